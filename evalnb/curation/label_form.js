// The front of the labelling form.

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

class LabelForm extends Form {
  constructor(model) {
    super(model);
    this.draft = {};
    this.axis = 0;
    this.scales = node("div", { class: "evalnb-scales" });
    this.note = node("textarea", { rows: "2", dir: "auto", maxlength: "10000", "aria-keyshortcuts": "n" });
    this.noteLabel = node("label", { class: "evalnb-note" }, "Note (n)", this.note);
    this.save = this.button("Save", "Enter", () => this.doSave());
    this.skip = this.button("Skip", "s", () => this.doSkip());
    this.undo = this.button("Undo", "u", () => this.doUndo());
    this.frame({
      name: "Labelling form",
      verb: "label",
      help: HELP,
      parts: [this.scales, this.noteLabel],
      actions: [this.save, this.skip, this.undo],
    });
    this.note.addEventListener("change", () => this.sendNote());
  }

  words(said) {
    const { n, n_labelled, n_skipped, n_left } = this.state;
    if (!said) return this.isComplete() ? "Enter saves." : "";
    const skipped = n_skipped ? `, ${n_skipped} skipped` : "";
    return `${said} ${n_labelled} of ${n} labelled${skipped}, ${n_left} to come.`;
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
    this.focusAgain(hadFocus);
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

  warnings() {
    const { rater, source, is_anonymous } = this.state;
    this.source.textContent = `${source}, rated by ${rater}`;
    this.save.disabled = is_anonymous;
    this.skip.disabled = is_anonymous;
    return is_anonymous ? ["Nothing can be saved yet: set the parameter rater to who rates, and run the cell again."] : [];
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

  // Keys.

  onFieldKey(event) {
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

export default { render: ({ model, el }) => show(new LabelForm(model), el) };
