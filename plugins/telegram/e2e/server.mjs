// The Bot API server of telegram-test-api, to hold the plugin against a server that is not ours. It prints its address and
// ends with its standard input. Argument: a free port.
import TelegramServer from "telegram-test-api";

const server = new TelegramServer({ port: Number(process.argv[2]), host: "127.0.0.1" });
await server.start();
console.log(server.config.apiURL);
process.stdin.resume();
process.stdin.on("end", async () => {
  await server.stop();
  process.exit(0);
});
