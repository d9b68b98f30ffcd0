// Sends words to a running `turia serve` and prints the captions. It uses the protocol directly (docs/protocol.md).
//
//     node examples/speak.mjs "Guten Tag, meine Damen und Herren."      (Node 22 or later)
//
// It does not reconnect when the connection is lost; src/turia/server/static/connection.js shows how to do that.

const url = "http://127.0.0.1:8000";
const words = process.argv.slice(2).join(" ").split(/\s+/).filter(Boolean);
if (!words.length) {
  console.error("What shall be said? node examples/speak.mjs WORDS");
  process.exit(2);
}

const answer = await fetch(`${url}/api/sessions`, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ k: 3 }),
});
const { ticket } = await answer.json();
const socket = new WebSocket(`${url.replace("http", "ws")}/socket`);
const send = (message) => socket.send(JSON.stringify(message));

socket.addEventListener("open", () => send({ type: "hello", protocol: 1, ticket, have: 0 }));
socket.addEventListener("message", ({ data }) => {
  const message = JSON.parse(data);
  if (message.type === "hello") {
    send({ type: "words", seq: 1, words });
    send({ type: "end", seq: words.length + 1 });
  }
  if (message.type === "error") console.error(message.message);
  for (const event of message.events ?? []) {
    if (event.type === "write") process.stdout.write(`${event.word} `);
    if (event.type === "end") process.stdout.write("\n");
  }
});
