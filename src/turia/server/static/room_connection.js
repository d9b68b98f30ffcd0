// The socket of a room (docs/protocol.md): the events of whatever session the room shows, one session after another.
// No document in here.

import { Connection, FIRST_WAIT, PROTOCOL } from "./connection.js";

// A room that does not exist may be made later.
const NO_ROOM_WAIT = 15000;

// `on` has what a Connection asks for, and languages(): what the viewer would like to read; room(message, isNew): what
// is shown from here on; and closed(): there is no such room.
export class RoomConnection extends Connection {
  constructor(name, on) {
    super(name, null, on);
  }

  connect() {
    this.on.status("connecting", this.following ? "Reconnecting" : "Connecting");
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/socket/rooms/${encodeURIComponent(this.session)}`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      // The newest event comes once more, to be compared: a store that was set back may have passed it since.
      const have = Math.max(0, this.have - 1);
      const wishes = { tentative: Boolean(this.on.tentative), presence: Boolean(this.on.presence) };
      const hello = { type: "hello", protocol: PROTOCOL, languages: this.on.languages(), have, ...wishes };
      if (this.following) hello.session = this.following;
      socket.send(JSON.stringify(hello));
    });
    socket.addEventListener("message", (event) => this.socket === socket && this.take(socket, JSON.parse(event.data)));
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.socket = null;
      if (!socket.refused) this.later();
    });
  }

  // The viewer would like to read something else.
  chooseAgain() {
    this.forget(null);
    const { socket } = this;
    // Without one, it is on its way.
    if (!socket) return;
    this.socket = null;
    socket.close();
    this.connect();
  }

  forget(session) {
    this.following = session;
    this.have = 0;
    this.newest = null;
    this.ended = false;
  }

  take(socket, message) {
    if (message.type === "room") {
      this.wait = FIRST_WAIT;
      const session = message.session ?? null;
      const isNew = session !== (this.following ?? null);
      if (isNew) this.forget(session);
      if (!session) this.on.status("live", "Connected");
      this.on.room(message, isNew);
    } else if (message.type === "error" && message.code === "room") {
      socket.refused = true;
      this.forget(null);
      this.on.closed();
      setTimeout(() => this.connect(), NO_ROOM_WAIT);
    } else {
      super.take(socket, message);
    }
  }
}
