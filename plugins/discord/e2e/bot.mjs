// A bot on discord.js, to hold the loopback server of discordtest against a client that is not ours. It does what it is told by
// messages, and answers with what came of it. Arguments: the server's address and the bot's token.
import { Client, DiscordAPIError, Events, GatewayIntentBits, MessageFlags, Partials } from "discord.js";

const [address, token] = process.argv.slice(2);
const client = new Client({
  rest: { api: `${address}/api` },
  intents: [
    GatewayIntentBits.Guilds,
    GatewayIntentBits.GuildMessages,
    GatewayIntentBits.GuildMessageReactions,
    GatewayIntentBits.DirectMessages,
    GatewayIntentBits.DirectMessageReactions,
    GatewayIntentBits.MessageContent,
  ],
  partials: [Partials.Channel, Partials.Message, Partials.Reaction, Partials.User],
});

// failure is what the server answers to a call that it must refuse.
async function failure(call) {
  try {
    await call();
    return "no error";
  } catch (error) {
    if (!(error instanceof DiscordAPIError)) throw error;
    return `${error.status} ${error.code}`;
  }
}

const button = (label, custom_id) => ({ type: 1, components: [{ type: 2, style: 2, label, custom_id }] });

const told = {
  async text(message) {
    await message.reply({ content: "an answer to @everyone", components: [button("Yes", "y")], allowedMentions: { parse: [] } });
  },
  async edit(message) {
    const sent = await message.channel.send("one");
    await sent.edit({ content: "two", components: [button("b", "d")] });
    const other = await message.channel.send("to be deleted");
    await other.delete();
    await message.channel.send(`${await failure(() => other.edit("x"))}, ${await failure(() => message.edit("not mine"))}`);
  },
  async files(message) {
    const sent = await message.channel.send({
      content: "files",
      files: [{ attachment: Buffer.from("pixels"), name: "a.png" }, { attachment: Buffer.from("%PDF"), name: "b.pdf" }],
    });
    await message.channel.send(`${sent.attachments.size} files, the first of ${sent.attachments.first().size} bytes`);
  },
  async voice(message) {
    const to = message.channel;
    const file = { attachment: Buffer.from("fLaC"), name: "v.flac", waveform: "AP8=", duration: 1.5 };
    const sent = await to.send({ files: [file], flags: MessageFlags.IsVoiceMessage });
    const shown = sent.attachments.first();
    await to.send([
      `${sent.flags.has(MessageFlags.IsVoiceMessage)} ${shown.duration} ${shown.waveform}`,
      await failure(() => to.send({ content: "listen", files: [file], flags: MessageFlags.IsVoiceMessage })),
      await failure(() => to.send({ files: [file, file], flags: MessageFlags.IsVoiceMessage })),
      await failure(() => to.send({ files: [{ ...file, waveform: undefined }], flags: MessageFlags.IsVoiceMessage })),
      await failure(() => sent.edit("changed")),
    ].join(", "));
  },
  async attached(message) {
    const file = message.attachments.first();
    await message.channel.send(`${file.name} ${file.contentType} ${file.size}`);
  },
  async nonce(message) {
    const once = { content: "once", nonce: "4711", enforceNonce: true };
    const first = await message.channel.send(once);
    const second = await message.channel.send(once);
    await message.channel.send(`the same: ${first.id === second.id}`);
  },
  async history(message) {
    const list = await message.channel.messages.fetch({ after: "1", limit: 2 });
    await message.channel.send(`the first two: ${[...list.values()].map((m) => m.content).join(", ")}`);
  },
  async menu(message) {
    const set = await client.application.commands.set([{ name: "status", description: "What is going on." }]);
    await message.channel.send(`a menu of ${set.map((c) => c.name)}`);
  },
  async react(message) {
    await message.react("👍");
    await message.channel.sendTyping();
    await message.channel.send("reacted");
  },
  async person(message) {
    const direct = await client.users.createDM("8");
    await direct.send("to you");
    await message.channel.send(`${direct.recipientId}, ${await failure(() => client.users.createDM("88"))}`);
  },
  async refused(message) {
    const to = message.channel;
    await to.send([
      await failure(() => to.send("x".repeat(2001))),
      await failure(() => to.send({ content: "x", components: [button("a", "s"), button("b", "s")] })),
      await failure(() => client.rest.get("/channels/12345")),
      await failure(() => to.messages.fetch("12345")),
    ].join(", "));
  },
  async many(message) {
    for (let i = 0; i < 4; i++) await message.channel.send(`of many ${i}`);
  },
};

client.on(Events.MessageCreate, async (message) => {
  if (message.author.id === client.user.id) return;
  const word = message.content.split(" ")[0];
  if (message.channel.isThread()) return message.channel.send(`in thread ${message.channel.name} of ${message.channel.parent.name}`);
  if (message.mentions.has(client.user)) return message.channel.send(`${message.author.username} in ${message.channel.name}, guild ${message.guild.name}`);
  if (told[word]) return told[word](message);
  return message.channel.send(`heard ${message.content}`);
});
client.on(Events.MessageUpdate, async (_, message) => {
  if (message.author?.id !== client.user.id) await message.channel.send(`edited to ${message.content}`);
});
client.on(Events.MessageDelete, async (message) => {
  if (message.author?.id !== client.user.id) await message.channel.send(`deleted ${message.id}`);
});
client.on(Events.MessageReactionAdd, async (reaction, user) => {
  if (user.id !== client.user.id) await reaction.message.channel.send(`${user.id} reacts ${reaction.emoji.name}`);
});
client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isChatInputCommand()) {
    await interaction.deferReply({ flags: MessageFlags.Ephemeral });
    await interaction.editReply(`${interaction.commandName} ${interaction.options.getString("args")}`);
    await interaction.followUp({ content: "and more", flags: MessageFlags.Ephemeral });
  } else if (interaction.isButton() && interaction.customId === "y") {
    await interaction.deferUpdate();
  } else {
    await interaction.reply({ content: "no", flags: MessageFlags.Ephemeral });
  }
});
client.on(Events.Error, (error) => console.error(error));
client.once(Events.ClientReady, () => console.log("started"));
// What made this process ends it by closing its input.
process.stdin.on("end", () => process.exit()).resume();
await client.login(token);
