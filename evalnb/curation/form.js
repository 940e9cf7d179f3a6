// The front of the labelling form. It shows what the kernel says and tells it what the rater does;
// nothing counts before the kernel has confirmed it. All text goes into text nodes.

const PATIENCE_MS = 2000;
const BUSY = "Not confirmed: the kernel is busy or gone. What was confirmed before is on disk. " +
  "If this stays, run the form's cell again.";
const NOBODY = "Waiting for the kernel, which is busy or gone. If this stays, run the form's cell again.";
const HELP = [
  ["0–9", "choose a level on the marked axis"],
  ["↑ ↓", "mark another axis"],
  ["Enter", "save and go on"],
  ["s", "skip"],
  ["u", "take back the last one"],
  ["n", "write a note; Esc leaves it, Ctrl+Enter saves from it"],
  ["Page ↑ ↓", "scroll the answer"],
  ["?", "show or hide this"],
];

let views = 0;

function node(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function prose(text, className = "evalnb-text") {
  return node("div", { class: className, dir: "auto" }, text);
}

function region(label, ...children) {
  return node(
    "section",
    { class: "evalnb-region", role: "region", "aria-label": label, tabindex: "0" },
    node("h4", {}, label),
    ...children,
  );
}

function titled(title, text) {
  return node("div", { class: "evalnb-part" }, title ? node("div", { class: "evalnb-who", dir: "auto" }, title) : null, prose(text));
}

function callOf(call) {
  return node(
    "div",
    { class: "evalnb-call" },
    node("span", { class: "evalnb-who" }, "Tool call "),
    node("code", { dir: "auto" }, call.name),
    node("pre", { dir: "ltr" }, call.arguments),
  );
}

function answerPart(part) {
  return node(
    "div",
    { class: "evalnb-part" },
    part.title ? node("div", { class: "evalnb-who" }, part.title) : null,
    part.text ? prose(part.text) : null,
    ...part.calls.map(callOf),
    part.remark ? node("em", {}, part.remark) : null,
  );
}

function questionOf(question) {
  const parts = [region("Conversation", ...question.conversation.map((turn) => titled(turn.who, turn.text)))];
  if (question.context?.length) {
    parts.push(region("Context", ...question.context.map((passage) => titled(passage.title, passage.text))));
  }
  if (question.criteria?.length) {
    const criteria = question.criteria.map((text) => node("li", { dir: "auto" }, text));
    parts.push(region("Criteria", node("ol", {}, ...criteria)));
  }
  return parts;
}

function answersOf(answers) {
  const labels = answers.length === 1 ? ["Answer"] : ["First answer", "Second answer"];
  return answers.map((answer, index) => region(labels[index], ...answer.parts.map(answerPart)));
}

function keyOf(event) {
  // On layouts without Latin letters or plain digits, the key's place counts.
  if (/^[a-z0-9]$/i.test(event.key)) return event.key.toLowerCase();
  const place = /^(?:Digit|Numpad|Key)([0-9A-Z])$/.exec(event.code);
  return event.key.length === 1 && event.key !== "?" && place ? place[1].toLowerCase() : event.key;
}

function paceOf(state) {
  if (!state.seconds_an_item || !state.n_left) return "";
  const minutes = Math.ceil((state.seconds_an_item * state.n_left) / 60);
  return `${Math.round(state.seconds_an_item)} s an item, about ${minutes} min to go`;
}

class Form {
  constructor(model) {
    this.model = model;
    this.view = `${Date.now()}-${(views += 1)}`;
    this.sent = 0;
    this.pending = new Map();
    this.isLocked = false;
    this.isHeld = false; // another item came without the rater's doing: no key is meant for it yet
    this.state = null;
    this.draft = {};
    this.axis = 0;
    this.build();
  }

  build() {
    this.place = node("span", { class: "evalnb-place" });
    this.bar = node("progress", { "aria-label": "Items done", max: "1", value: "0" });
    this.pace = node("span", { class: "evalnb-pace" });
    this.source = node("div", { class: "evalnb-source", dir: "auto" });
    this.warning = node("div", { class: "evalnb-warning", role: "alert" });
    this.body = node("div", { class: "evalnb-body" });
    this.scales = node("div", { class: "evalnb-scales" });
    this.note = node("textarea", { rows: "2", dir: "auto", maxlength: "10000", "aria-keyshortcuts": "n" });
    this.noteLabel = node("label", { class: "evalnb-note" }, "Note (n)", this.note);
    this.save = this.button("Save", "Enter", () => this.doSave());
    this.skip = this.button("Skip", "s", () => this.doSkip());
    this.undo = this.button("Undo", "u", () => this.doUndo());
    this.status = node("div", { class: "evalnb-status", role: "status", "aria-live": "polite" });
    this.help = node(
      "details",
      { class: "evalnb-help" },
      node("summary", {}, "Keys (?)"),
      node("dl", {}, ...HELP.flatMap(([key, text]) => [node("dt", {}, node("kbd", {}, key)), node("dd", {}, text)])),
    );
    this.root = node(
      "div",
      { class: "evalnb-form", role: "group", "aria-label": "Labelling form", tabindex: "0", "data-state": "waiting" },
      node("div", { class: "evalnb-head" }, this.place, this.bar, this.pace),
      this.source,
      this.warning,
      this.body,
      this.scales,
      this.noteLabel,
      node("div", { class: "evalnb-actions" }, this.save, this.skip, this.undo, this.status),
      node("div", { class: "evalnb-hint" }, "Click here, or move here by Tab, to label by keys."),
      this.help,
    );
    this.root.dataset.lmSuppressShortcuts = "true";
    this.root.addEventListener("keydown", (event) => this.onKey(event));
    this.note.addEventListener("change", () => this.sendNote());
  }

  button(text, key, action) {
    const made = node("button", { type: "button", "aria-keyshortcuts": key }, text, " ", node("kbd", { "aria-hidden": "true" }, key));
    made.addEventListener("click", action);
    return made;
  }

  open() {
    const onMessage = (message) => this.onMessage(message);
    this.model.on("msg:custom", onMessage);
    this.send("show");
    return () => {
      this.model.off("msg:custom", onMessage);
      for (const timer of this.pending.values()) clearTimeout(timer);
    };
  }

  // What is sent, and what comes back.

  send(act, more = {}) {
    const seq = `${this.view}-${(this.sent += 1)}`;
    this.pending.set(seq, setTimeout(() => this.onSilence(), PATIENCE_MS));
    try {
      this.model.send({ act, seq, item: this.itemId(), ...more });
    } catch {
      this.onSilence();
    }
  }

  onSilence() {
    this.isLocked = false;
    this.say(this.state ? BUSY : NOBODY, "unconfirmed");
  }

  onMessage(message) {
    const isMine = this.pending.has(message.seq);
    if (isMine) {
      clearTimeout(this.pending.get(message.seq));
      this.pending.delete(message.seq);
    }
    const isNew = this.state === null || this.itemId() !== (message.state.item.id ?? "");
    this.state = message.state;
    if (isNew) this.showItem();
    this.showProgress();
    if (isMine && this.pending.size === 0) this.isLocked = false;
    if (message.is_stale && isNew && this.itemId()) this.isHeld = true;
    if (message.error) this.say(`Not saved: ${message.error}`, "error");
    else if (this.isHeld) this.say(`${message.is_stale ? message.said : ""} This is another item: Enter goes on with it.`, "held");
    else if (this.pending.size === 0 && (isMine || isNew)) this.say(this.words(message.said), this.itemId() ? "ready" : "done");
  }

  words(said) {
    const { n, n_labelled, n_skipped, n_left } = this.state;
    if (!said) return this.isComplete() ? "Enter saves." : "";
    const skipped = n_skipped ? `, ${n_skipped} skipped` : "";
    return `${said} ${n_labelled} of ${n} labelled${skipped}, ${n_left} to come.`;
  }

  itemId() {
    return this.state?.item.id ?? "";
  }

  say(text, state) {
    this.status.textContent = text;
    this.root.dataset.state = state;
    const isUrgent = ["error", "missing", "unconfirmed", "held"].includes(state);
    if (isUrgent && this.root.contains(document.activeElement)) this.status.scrollIntoView({ block: "nearest" });
  }

  release() {
    this.isHeld = false;
    this.say("", "ready");
  }

  // What is shown.

  showItem() {
    const { item } = this.state;
    const hadFocus = this.root.contains(document.activeElement);
    this.root.dataset.item = this.itemId();
    this.draft = { ...item.draft };
    this.note.value = item.note ?? "";
    this.body.replaceChildren(...(this.itemId() ? this.itemBody(item) : [this.farewell()]));
    this.scales.replaceChildren(...(item.scales ?? []).map((scale, index) => this.scale(scale, index)));
    for (const part of [this.scales, this.noteLabel, this.save, this.skip]) part.hidden = !this.itemId();
    this.mark(this.after(-1));
    if (!hadFocus) return;
    this.root.focus({ preventScroll: true });
    if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start" });
  }

  itemBody(item) {
    const side = item.answers.length > 1 ? "evalnb-answers evalnb-pair" : "evalnb-answers";
    return [...questionOf(item.question), node("div", { class: side }, ...answersOf(item.answers))];
  }

  farewell() {
    const { n, n_labelled, n_skipped, path } = this.state;
    const text = n
      ? `No item is left: ${n_labelled} labelled, ${n_skipped} skipped of ${n}. They are in ${path}.`
      : "There is nothing to rate.";
    return node("p", { class: "evalnb-farewell", dir: "auto" }, text);
  }

  showProgress() {
    const { n, n_labelled, n_skipped, rater, source, is_anonymous, problems, n_problems } = this.state;
    const done = n_labelled + n_skipped;
    this.place.textContent = this.itemId() ? `Item ${done + 1} of ${n}` : `${done} of ${n} done`;
    this.bar.max = n || 1;
    this.bar.value = done;
    this.pace.textContent = paceOf(this.state);
    this.source.textContent = `${source}, rated by ${rater}`;
    this.undo.disabled = !this.state.can_undo;
    this.save.disabled = is_anonymous;
    this.skip.disabled = is_anonymous;
    const warnings = is_anonymous ? ["Nothing can be saved yet: set the parameter rater to who rates, and run the cell again."] : [];
    if (n_problems) warnings.push(`${n_problems} lines of the file cannot be read and count for nothing:`, ...problems);
    this.warning.replaceChildren(...warnings.map((text) => node("div", { dir: "auto" }, text)));
  }

  scale(scale, index) {
    const title = `${this.view}-axis-${index}`;
    const options = scale.options.map((option) => this.option(scale, option, index));
    const group = node(
      "div",
      { class: "evalnb-scale", role: "radiogroup", "aria-labelledby": title, "data-axis": scale.name },
      node("div", { class: "evalnb-axis", id: title }, node("strong", {}, scale.name), " ", node("span", { dir: "auto" }, scale.question)),
      ...options,
    );
    group.addEventListener("focusin", () => this.mark(index));
    return group;
  }

  option(scale, option, index) {
    const made = node(
      "button",
      { type: "button", role: "radio", class: "evalnb-option", "data-answer": String(option.answer) },
      node("span", { class: "evalnb-dot", "aria-hidden": "true" }),
      node("kbd", {}, option.key || String(option.answer)),
      node("span", { dir: "auto" }, option.text),
    );
    made.addEventListener("click", () => this.choose(index, option.answer));
    return made;
  }

  axes() {
    return this.state?.item.scales ?? [];
  }

  after(index) {
    const open = this.axes().findIndex((scale) => !(scale.name in this.draft));
    return open === -1 ? Math.min(index + 1, this.axes().length - 1) : open;
  }

  isComplete() {
    return this.axes().length > 0 && this.axes().every((scale) => scale.name in this.draft);
  }

  mark(index) {
    this.axis = index;
    this.axes().forEach((scale, at) => {
      const group = this.scales.children[at];
      group.toggleAttribute("data-marked", at === index);
      scale.options.forEach((option, place) => {
        const radio = group.querySelectorAll("[role=radio]")[place];
        const isChosen = this.draft[scale.name] === option.answer;
        radio.setAttribute("aria-checked", String(isChosen));
        radio.tabIndex = isChosen || (!(scale.name in this.draft) && place === 0) ? 0 : -1;
      });
    });
  }

  showMarked() {
    if (this.root.contains(document.activeElement)) this.scales.children[this.axis]?.scrollIntoView({ block: "nearest" });
  }

  // What the rater does.

  choose(index, answer) {
    if (this.isLocked || this.isHeld) return;
    const scale = this.axes()[index];
    this.draft[scale.name] = answer;
    const isRadioFocused = document.activeElement?.getAttribute("role") === "radio";
    this.mark(isRadioFocused ? index : this.after(index));
    this.showMarked();
    this.say(this.isComplete() ? "Enter saves." : "", "choosing");
    this.send("choose", { axis: scale.name, answer });
  }

  sendNote() {
    if (this.itemId() && !this.isLocked) this.send("note", { note: this.note.value });
  }

  doSave() {
    if (this.isHeld) {
      this.release();
      return;
    }
    if (!this.mayAct()) return;
    const open = this.axes().filter((scale) => !(scale.name in this.draft));
    if (open.length) {
      this.mark(this.after(-1));
      this.say(`No answer yet on ${open.map((scale) => scale.name).join(", ")}.`, "missing");
      return;
    }
    this.act("save", { answers: this.draft, note: this.note.value });
  }

  doSkip() {
    if (this.mayAct()) this.act("skip", { note: this.note.value });
  }

  doUndo() {
    if (this.isLocked || this.isHeld || !this.state) return;
    if (this.state.can_undo) this.act("undo");
    else this.say("There is nothing to take back.", "missing");
  }

  mayAct() {
    return !this.isLocked && !this.isHeld && this.itemId() !== "" && !this.state.is_anonymous;
  }

  act(name, more) {
    this.isLocked = true;
    this.say("Saving…", "saving");
    this.send(name, more);
  }

  // Keys.

  onKey(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      this.letThrough();
      return;
    }
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.target === this.note) this.onNoteKey(event);
    else if (!(event.ctrlKey || event.metaKey || event.altKey)) this.onFormKey(event);
  }

  letThrough() {
    delete this.root.dataset.lmSuppressShortcuts;
    setTimeout(() => { this.root.dataset.lmSuppressShortcuts = "true"; }, 0);
  }

  onNoteKey(event) {
    if (event.key === "Escape") {
      event.preventDefault();
      this.root.focus({ preventScroll: true });
    } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!event.repeat) this.doSave();
    }
  }

  onFormKey(event) {
    const isRadio = event.target.getAttribute("role") === "radio";
    const isControl = !isRadio && /^(BUTTON|SUMMARY)$/.test(event.target.tagName);
    const key = keyOf(event);
    const once = (action) => { if (!event.repeat) action(); };
    const moves = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };
    if (isControl && (key === "Enter" || key === " ")) return;
    if (/^\d$/.test(key)) once(() => this.chooseByKey(key));
    else if (key === "Enter") once(() => this.doSave());
    else if (key === "s") once(() => this.doSkip());
    else if (key === "u") once(() => this.doUndo());
    else if (key === "n") once(() => this.note.focus());
    else if (key === "?") this.toggleHelp();
    else if (key === "Escape") this.root.focus({ preventScroll: true });
    else if (key in moves && isRadio) this.moveRadio(event.target, moves[key]);
    else if (key in moves && event.target === this.root) this.moveAxis(moves[key]);
    else if (key === "PageDown" || key === "PageUp") this.scroll(key === "PageDown" ? 1 : -1);
    else return;
    event.preventDefault();
  }

  toggleHelp() {
    this.help.open = !this.help.open;
    if (this.help.open) this.help.scrollIntoView({ block: "nearest" });
  }

  chooseByKey(key) {
    const option = this.axes()[this.axis]?.options.find((one) => one.key === key);
    if (option) this.choose(this.axis, option.answer);
    else if (this.itemId()) this.say(`${this.axes()[this.axis].name} has no level ${key}.`, "missing");
  }

  moveAxis(step) {
    const n = this.axes().length;
    if (n) this.mark((this.axis + step + n) % n);
    this.showMarked();
  }

  moveRadio(radio, step) {
    const radios = [...radio.parentElement.querySelectorAll("[role=radio]")];
    const next = radios[(radios.indexOf(radio) + step + radios.length) % radios.length];
    next.focus();
    next.click();
  }

  scroll(step) {
    for (const answer of this.body.querySelectorAll(".evalnb-answers > section")) {
      answer.scrollBy({ top: step * 0.9 * answer.clientHeight });
    }
  }
}

function render({ model, el }) {
  const form = new Form(model);
  el.append(form.root);
  return form.open();
}

export default { render };
