// The front of the curation form.

const HELP = [
  ["a", "accept and go on; Ctrl+Enter does it from a field"],
  ["r", "reject: write why, then Enter"],
  ["s", "skip"],
  ["u", "take back the last one"],
  ["1–9", "expect a suggested word, or no longer"],
  ["i e t k x g n", "edit the field with that letter; Esc leaves it"],
  ["p", "to the other split"],
  ["Page ↑ ↓", "scroll the conversation"],
  ["?", "show or hide this"],
];
const FIELDS = [
  ["ends_with", "e", "Ends with the user's message", "select", {}],
  ["input", "i", "What the user says there", "textarea", { rows: "3" }],
  ["expected_intent", "t", "Intent to expect", "input", {}],
  ["expected_keywords", "k", "Keywords to expect, one a line", "textarea", { rows: "3" }],
  ["must_not_include", "x", "Words that must not appear, one a line", "textarea", { rows: "2" }],
  ["tags", "g", "Tags, one a line", "textarea", { rows: "2" }],
  ["split", "p", "Split", "select", {}],
  ["note", "n", "Note", "textarea", { rows: "2" }],
];
const LONGEST = 100000;
const TERMS = "Words of good answers";

function lines(text) {
  return text.split("\n").map((line) => line.trim()).filter((line) => line);
}

class CurationForm extends Form {
  constructor(model) {
    super(model);
    this.fields = {};
    this.problems = {};
    const labels = FIELDS.map((field) => this.field(...field));
    this.terms = node("div", { class: "evalnb-terms", role: "group", "aria-label": TERMS });
    labels.splice(FIELDS.findIndex(([name]) => name === "expected_keywords"), 0, this.terms);
    this.edit = node("div", { class: "evalnb-fields", role: "group", "aria-label": "The case" }, ...labels);
    this.accept = this.button("Accept", "a", () => this.doAccept());
    this.reject = this.button("Reject", "r", () => this.askWhy());
    this.skip = this.button("Skip", "s", () => this.doSkip());
    this.undo = this.button("Undo", "u", () => this.doUndo());
    this.reason = node("input", { type: "text", dir: "auto", maxlength: "2000" });
    this.why = node("label", { class: "evalnb-note" }, "Why it is rejected (Enter rejects)", this.reason);
    this.why.hidden = true;
    this.frame({
      name: "Curation form",
      verb: "curate",
      help: HELP,
      parts: [this.edit, this.why],
      actions: [this.accept, this.reject, this.skip, this.undo],
    });
    for (const option of ["dev", "holdout"]) this.fields.split.append(node("option", { value: option }, option));
  }

  field(name, key, title, tag, attributes) {
    const limit = tag === "select" ? {} : { dir: "auto", maxlength: String(LONGEST) };
    const made = node(tag, { "aria-keyshortcuts": key, "data-field": name, ...limit, ...attributes });
    const id = `${this.view}-${name}`;
    this.fields[name] = made;
    this.problems[name] = node("span", { class: "evalnb-problem", id });
    made.setAttribute("aria-describedby", id);
    made.addEventListener("change", () => this.onChange(name));
    return node("label", { class: "evalnb-note" }, `${title} (${key})`, made, this.problems[name]);
  }

  words(said) {
    const { n, n_accepted, n_rejected, n_left } = this.state;
    return said ? `${said} ${n_accepted} of ${n} accepted, ${n_rejected} rejected, ${n_left} to come.` : "";
  }

  onMessage(message) {
    super.onMessage(message);
    this.showProblems(message.problems ?? []);
  }

  // What is shown.

  showItem() {
    const { item } = this.state;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.dataset.item = this.itemId();
    this.body.replaceChildren(...(this.itemId() ? this.itemBody(item) : [this.farewell()]));
    this.reason.value = "";
    for (const part of [this.edit, this.accept, this.reject, this.skip]) part.hidden = !this.itemId();
    this.why.hidden = true;
    if (this.itemId()) this.showEdits(item);
    this.focusAgain(hadFocus);
  }

  itemBody(item) {
    const why = node("p", { class: "evalnb-why", dir: "auto" }, `Picked: ${[item.why, ...item.about].join(" · ")}`);
    const said = region("Conversation, redacted", ...item.conversation.map((turn) => titled(turn.who, turn.text)));
    const near = item.nearest;
    const nearest = near
      ? region("Nearest golden case", titled(`${near.case_id}, similarity ${near.similarity.toFixed(2)}`, near.text))
      : null;
    return [why, said, nearest].filter((part) => part !== null);
  }

  showEdits(item) {
    const ends = item.asked.map((text, at) => {
      return node("option", { value: String(at + 1) }, `${at + 1}: ${text.slice(0, 80)}`);
    });
    this.fields.ends_with.replaceChildren(...ends);
    for (const [name, made] of Object.entries(this.fields)) made.value = item.edits[name] ?? "";
    this.showTerms();
  }

  showTerms() {
    const chosen = new Set(lines(this.fields.expected_keywords.value));
    const made = this.state.item.terms.map((term, at) => {
      const text = [node("kbd", { "aria-hidden": "true" }, String(at + 1)), " ", node("span", { dir: "auto" }, term)];
      const one = node("button", { type: "button", "aria-pressed": String(chosen.has(term)) }, ...text);
      one.addEventListener("click", (event) => {
        event.preventDefault();
        this.toggleTerm(at);
      });
      return one;
    });
    this.terms.hidden = made.length === 0;
    this.terms.replaceChildren(node("span", {}, `${TERMS}:`), ...made);
  }

  showProblems(problems) {
    for (const [name, place] of Object.entries(this.problems)) {
      const mine = problems.filter((problem) => problem.field === name);
      place.textContent = mine.map((problem) => problem.message).join(" ");
      this.fields[name].setAttribute("aria-invalid", String(mine.length > 0));
    }
    const first = problems.find((problem) => problem.field in this.fields);
    if (first && this.root.contains(document.activeElement)) this.fields[first.field].focus();
  }

  farewell() {
    const { n, n_accepted, n_rejected, n_skipped, path } = this.state;
    const text = n
      ? `No candidate is left: ${n_accepted} accepted, ${n_rejected} rejected, ${n_skipped} skipped of ${n}. They are in ${path}.`
      : "There are no candidates.";
    return node("p", { class: "evalnb-farewell", dir: "auto" }, text);
  }

  warnings() {
    const { curator, path, is_anonymous } = this.state;
    this.source.textContent = `Curated by ${curator}, into ${path}`;
    for (const made of [this.accept, this.reject, this.skip]) made.disabled = is_anonymous;
    return is_anonymous ? ["Nothing can be saved yet: set the parameter curator to your name, and run the cell again."] : [];
  }

  // What the curator does.

  edits() {
    return Object.fromEntries(Object.entries(this.fields).map(([name, made]) => [name, made.value]));
  }

  onChange(name) {
    if (!this.itemId()) return;
    if (name === "ends_with") this.fields.input.value = this.state.item.asked[Number(this.fields.ends_with.value) - 1];
    if (name === "expected_keywords") this.showTerms();
    if (!this.isLocked && !this.isHeld && !this.state.is_anonymous) this.send("edit", { edits: this.edits() });
  }

  toggleTerm(at) {
    const term = this.state?.item.terms?.[at];
    if (!term || this.isLocked || this.isHeld) return;
    const before = lines(this.fields.expected_keywords.value);
    const after = before.includes(term) ? before.filter((word) => word !== term) : [...before, term];
    this.fields.expected_keywords.value = after.join("\n");
    this.onChange("expected_keywords");
  }

  toggleSplit() {
    if (!this.mayAct()) return;
    this.fields.split.value = this.fields.split.value === "dev" ? "holdout" : "dev";
    this.onChange("split");
    this.say(`Split: ${this.fields.split.value}.`, "ready");
  }

  doAccept() {
    if (this.mayAct()) this.act("accept", { edits: this.edits() });
  }

  doSkip() {
    if (this.mayAct()) this.act("skip");
  }

  askWhy() {
    if (!this.mayAct()) return;
    this.why.hidden = false;
    this.reason.focus();
  }

  doReject() {
    if (this.mayAct()) this.act("reject", { reason: this.reason.value });
  }

  // Keys.

  onFieldKey(event) {
    const isReason = event.target === this.reason;
    if (event.key === "Escape") {
      if (isReason) this.why.hidden = true;
      this.root.focus({ preventScroll: true });
    } else if (event.key === "Enter" && isReason) {
      if (!event.repeat) this.doReject();
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      if (!event.repeat) this.doAccept();
    } else return;
    event.preventDefault();
  }

  onFormKey(event) {
    const key = keyOf(event);
    const once = (action) => { if (!event.repeat) action(); };
    const field = FIELDS.find(([, letter]) => letter === key);
    if (/^(BUTTON|SUMMARY)$/.test(event.target.tagName) && (key === "Enter" || key === " ")) return;
    if (this.isHeld && key === "Enter") once(() => this.release());
    else if (/^[1-9]$/.test(key)) once(() => this.toggleTerm(Number(key) - 1));
    else if (key === "a") once(() => this.doAccept());
    else if (key === "r") once(() => this.askWhy());
    else if (key === "s") once(() => this.doSkip());
    else if (key === "u") once(() => this.doUndo());
    else if (key === "p") once(() => this.toggleSplit());
    else if (key === "?") this.toggleHelp();
    else if (key === "Escape") this.root.focus({ preventScroll: true });
    else if (field && this.mayAct()) this.fields[field[0]].focus();
    else if (key === "PageDown" || key === "PageUp") this.scroll(key === "PageDown" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  scroll(step) {
    const said = this.body.querySelector("section");
    said?.scrollBy({ top: step * 0.9 * said.clientHeight });
  }
}

export default { render: ({ model, el }) => show(new CurationForm(model), el) };
