// What the forms have in common: they show what the kernel says and tell it what a person does;
// nothing counts before the kernel has confirmed it. All text goes into text nodes.

const PATIENCE_MS = 2000;
const BUSY = "Not confirmed: the kernel is busy or gone. What was confirmed before is on disk. " +
  "If this stays, run the form's cell again.";
const NOBODY = "Waiting for the kernel, which is busy or gone. If this stays, run the form's cell again.";
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

// A form is built of `parts` between head and actions; what it adds to this is `showItem`, `words`,
// `warnings`, `onFieldKey` and `onFormKey`.
class Form {
  constructor(model) {
    this.model = model;
    this.view = `${Date.now()}-${(views += 1)}`;
    this.sent = 0;
    this.pending = new Map();
    this.isLocked = false;
    this.isHeld = false; // another item came without this form's doing: no key is meant for it yet
    this.state = null;
  }

  frame({ name, verb, help, parts, actions }) {
    this.place = node("span", { class: "evalnb-place" });
    this.bar = node("progress", { "aria-label": "Items done", max: "1", value: "0" });
    this.pace = node("span", { class: "evalnb-pace" });
    this.source = node("div", { class: "evalnb-source", dir: "auto" });
    this.warning = node("div", { class: "evalnb-warning", role: "alert" });
    this.body = node("div", { class: "evalnb-body" });
    this.status = node("div", { class: "evalnb-status", role: "status", "aria-live": "polite" });
    this.help = node(
      "details",
      { class: "evalnb-help" },
      node("summary", {}, "Keys (?)"),
      node("dl", {}, ...help.flatMap(([key, text]) => [node("dt", {}, node("kbd", {}, key)), node("dd", {}, text)])),
    );
    this.root = node(
      "div",
      { class: "evalnb-form", role: "group", "aria-label": name, tabindex: "0", "data-state": "waiting" },
      node("div", { class: "evalnb-head" }, this.place, this.bar, this.pace),
      this.source,
      this.warning,
      this.body,
      ...parts,
      node("div", { class: "evalnb-actions" }, ...actions, this.status),
      node("div", { class: "evalnb-hint" }, `Click here, or move here by Tab, to ${verb} by keys.`),
      this.help,
    );
    this.root.dataset.lmSuppressShortcuts = "true";
    this.root.addEventListener("keydown", (event) => this.onKey(event));
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

  focusAgain(hadFocus) {
    if (!hadFocus) return;
    this.root.focus({ preventScroll: true });
    if (this.root.getBoundingClientRect().top < 0) this.root.scrollIntoView({ block: "start" });
  }

  showProgress() {
    const { n, n_left, problems, n_problems } = this.state;
    this.place.textContent = this.itemId() ? `Item ${n - n_left + 1} of ${n}` : `${n - n_left} of ${n} done`;
    this.bar.max = n || 1;
    this.bar.value = n - n_left;
    this.pace.textContent = paceOf(this.state);
    this.undo.disabled = !this.state.can_undo;
    const warnings = this.warnings();
    if (n_problems) warnings.push(`${n_problems} lines of the file cannot be read and count for nothing:`, ...problems);
    this.warning.replaceChildren(...warnings.map((text) => node("div", { dir: "auto" }, text)));
  }

  // What is done.

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
    if (/^(TEXTAREA|INPUT|SELECT)$/.test(event.target.tagName)) this.onFieldKey(event);
    else if (!(event.ctrlKey || event.metaKey || event.altKey)) this.onFormKey(event);
  }

  letThrough() {
    delete this.root.dataset.lmSuppressShortcuts;
    setTimeout(() => { this.root.dataset.lmSuppressShortcuts = "true"; }, 0);
  }

  toggleHelp() {
    this.help.open = !this.help.open;
    if (this.help.open) this.help.scrollIntoView({ block: "nearest" });
  }

}

function show(form, el) {
  el.append(form.root);
  return form.open();
}
