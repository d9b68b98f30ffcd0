// Rooms and further languages on the speaker's page: what a new session is begun with, and the links to share.

import { languageName } from "./captions.js";
import { Refused } from "./connection.js";

const NEW = "+";
const ASK = "?";
const find = (id) => document.getElementById(id);

async function ask(method, path, key, body) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, data.detail ?? answer.statusText, true);
  return data;
}

// A name for an address from a title that people gave: "Großer Saal" is grosser-saal.
export function nameOf(title) {
  const plain = title.replaceAll("ß", "ss").normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").slice(0, 60).replace(/^-+|-+$/g, "");
}

export class Rooms {
  // `withKey(work)` calls work(key) and asks for another key as long as the server knows none; `confirmed(dialog)` asks
  // a question; `complain(text)` says what went wrong.
  constructor(withKey, confirmed, complain) {
    this.withKey = withKey;
    this.confirmed = confirmed;
    this.complain = complain;
    this.rooms = new Map();
    this.session = null;
    this.base = "";
    this.select = find("room");
    this.select.addEventListener("change", () => this.choose().catch((error) => this.fail(error)));
    find("model").addEventListener("change", () => this.showAlso());
  }

  // `key` is one that was asked for before. Nobody is asked for one only to look.
  async know(info, key) {
    // Here, links are as short as ever.
    this.base = info.url === location.origin ? "" : info.url;
    this.models = info.models;
    this.showAlso();
    this.list([], info.needs_key && !key);
    if (info.needs_key && !key) return;
    try {
      await this.refresh(key);
    } catch {
      this.list([], true);
    }
    const wanted = new URLSearchParams(location.search).get("room");
    if (!this.session && this.rooms.has(wanted)) this.select.value = wanted;
    this.settle();
  }

  // A session that goes on after a reload is in the room that it was in.
  settle() {
    if (this.resumed) this.select.value = [...this.rooms.values()].find((room) => room.session === this.session)?.name ?? "";
    this.share();
  }

  async refresh(key) {
    const rooms = await ask("GET", "/api/rooms", key);
    this.rooms = new Map(rooms.map((room) => [room.name, room]));
    this.list(rooms, false);
  }

  list(rooms, locked) {
    const chosen = this.select.value;
    const options = rooms.map((room) => new Option(room.title, room.name));
    this.select.replaceChildren(new Option("No room", ""), ...options, locked ? new Option("Show rooms…", ASK) : new Option("New room…", NEW));
    this.select.value = rooms.some((room) => room.name === chosen) ? chosen : "";
  }

  async choose() {
    const { value } = this.select;
    if (value === ASK || value === NEW) this.select.value = this.current ?? "";
    if (value === ASK) {
      await this.withKey((key) => this.refresh(key));
      find("share").open = true;
      return;
    }
    if (value === NEW) {
      const name = await this.make();
      // The menu closes when one clicks elsewhere, as in a dialog.
      find("share").open = true;
      if (!name) return;
      this.select.value = name;
    }
    this.resumed = false;
    if (this.session) await this.place();
    this.share();
  }

  async make() {
    find("room-name").value = "";
    if (!(await this.confirmed(find("room-dialog")))) return null;
    const title = find("room-name").value.trim();
    const name = nameOf(title);
    if (!name) throw new Refused(422, "A room's name needs a letter from a to z, or a digit", true);
    // One of that name is not renamed by accident.
    if (this.rooms.has(name)) return name;
    await this.withKey(async (key) => {
      await ask("PUT", `/api/rooms/${name}`, key, { title });
      await this.refresh(key);
    });
    return name;
  }

  // Puts the session that runs into the room that was chosen, or takes it out of the last one.
  async place() {
    const name = this.select.value;
    const path = (room) => `/api/rooms/${room}/session`;
    if (!name) {
      await this.withKey((key) => ask("DELETE", path(this.current), key));
      return;
    }
    await this.taking((take_room) => this.withKey((key) => ask("PUT", path(name), key, { session: this.session, take_room })));
  }

  // Calls work(false), and work(true) if somebody speaks in the room and the user takes it all the same.
  async taking(work) {
    try {
      return await work(false);
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 409) throw error;
      if (!(await this.confirmed(find("taken-dialog")))) throw new Refused(409, "Somebody else speaks in this room", true);
      return work(true);
    }
  }

  fail(error) {
    this.select.value = this.current ?? "";
    this.complain(error instanceof Refused ? error.message : "The server does not answer");
  }

  // What a new session is asked for with.
  chosen() {
    const boxes = find("also-models").querySelectorAll("input:checked");
    // Further delays for the audience to choose from are part of the address: ?latency=6&latency=10.
    const latencies = new URLSearchParams(location.search).getAll("latency");
    return { room: this.select.value || null, also: [...boxes].map((box) => box.value), latencies };
  }

  // The languages beside the chosen direction, if there are models for them.
  showAlso() {
    const own = this.models?.find((model) => model.name === find("model").value);
    const others = own ? this.models.filter((model) => model.source === own.source && model.target !== own.target) : [];
    find("also-models").replaceChildren(
      ...others.map((model) => {
        const label = document.createElement("label");
        const box = document.createElement("input");
        box.type = "checkbox";
        box.value = model.name;
        label.append(box, languageName(model.target));
        return label;
      }),
    );
    find("also").hidden = !others.length;
  }

  attached(session, resumed) {
    this.session = session;
    this.resumed = resumed;
    find("also-models").disabled = true;
    this.settle();
  }

  // Links as others reach them: the room's, which stay, or the session's own.
  share() {
    this.current = this.select.value || null;
    const room = this.rooms.get(this.current);
    const own = this.session && encodeURIComponent(this.session);
    const [watch, overlay] = room ? [`${this.base}/room/${room.name}`, `${this.base}/room/${room.name}/overlay`] : [`${this.base}/watch/${own}`, `${this.base}/overlay/${own}`];
    const any = Boolean(room || own);
    for (const [id, href] of [["watch-link", watch], ["overlay-link", overlay]]) {
      if (any) find(id).href = href;
      else find(id).removeAttribute("href");
    }
    for (const copy of document.querySelectorAll("[data-copy]")) copy.disabled = !any;
    find("share-hint").hidden = any;
    find("room-code").hidden = !room;
    find("room-local").hidden = !room || room.reaches_others;
    if (room) find("room-qr").src = `/room/${room.name}/qr.svg`;
    if (room) find("room-address").textContent = room.url.replace(/^https?:\/\//, "");
  }
}
