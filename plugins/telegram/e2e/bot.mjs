// A bot on grammY, to hold the loopback server of telegramtest against a client that is not ours. It does what it is told by
// messages, and answers with what came of it. Arguments: the server's address and the bot's token.
import { Bot, GrammyError, InputFile } from "grammy";

const [apiRoot, token] = process.argv.slice(2);
const bot = new Bot(token, { client: { apiRoot } });
const png = Buffer.from("89504e470d0a1a0a00000000", "hex");

// failure is what the server answers to a call that it must refuse.
async function failure(call) {
  try {
    await call();
    return "no error";
  } catch (error) {
    if (!(error instanceof GrammyError)) throw error;
    return `${error.error_code} ${error.description} ${error.parameters.retry_after ?? ""}`.trim();
  }
}

const told = {
  async text(ctx) {
    await ctx.reply("bold answer", {
      entities: [{ type: "bold", offset: 0, length: 4 }],
      reply_parameters: { message_id: ctx.msg.message_id },
      reply_markup: { inline_keyboard: [[{ text: "Yes", callback_data: "y" }]] },
    });
  },
  async edit(ctx) {
    const sent = await ctx.reply("one");
    await ctx.api.editMessageText(ctx.chat.id, sent.message_id, "two");
    const same = await failure(() => ctx.api.editMessageText(ctx.chat.id, sent.message_id, "two"));
    await ctx.api.editMessageReplyMarkup(ctx.chat.id, sent.message_id, {
      reply_markup: { inline_keyboard: [[{ text: "b", callback_data: "d" }]] },
    });
    const other = await ctx.reply("to be deleted");
    await ctx.api.deleteMessage(ctx.chat.id, other.message_id);
    const gone = await failure(() => ctx.api.editMessageText(ctx.chat.id, other.message_id, "x"));
    await ctx.reply(`${same}\n${gone}`);
  },
  async files(ctx) {
    const photo = await ctx.replyWithPhoto(new InputFile(png, "a.png"), { caption: "a photo" });
    await ctx.api.editMessageCaption(ctx.chat.id, photo.message_id, { caption: "edited" });
    await ctx.replyWithDocument(new InputFile(Buffer.from("%PDF"), "b.pdf"));
    const album = await ctx.replyWithMediaGroup([
      { type: "photo", media: new InputFile(png, "c.png"), caption: "an album" },
      { type: "photo", media: new InputFile(png, "d.png") },
    ]);
    const same = album[0].media_group_id === album[1].media_group_id;
    await ctx.reply(`${photo.photo.length > 0} ${album.length} ${same}`);
  },
  async menu(ctx) {
    await ctx.api.setMyCommands([{ command: "status", description: "What is going on." }]);
    await ctx.reply(JSON.stringify(await ctx.api.getMyCommands()));
  },
  async draft(ctx) {
    await ctx.api.sendMessageDraft(ctx.chat.id, 5, "");
    await ctx.api.sendMessageDraft(ctx.chat.id, 5, "so far", { can_stop: true });
  },
  async rich(ctx) {
    await ctx.api.sendRichMessage(ctx.chat.id, { markdown: "# Title" });
  },
  async quoted(ctx) {
    const { text, rich_message } = ctx.msg.reply_to_message;
    await ctx.reply(`${text}: ${rich_message.blocks.map((b) => `${b.type} ${b.text}`)}`);
  },
  async react(ctx) {
    await ctx.react("👍");
    await ctx.reply("reacted");
  },
  async refused(ctx) {
    const lines = [
      await failure(() => ctx.api.sendMessage(12345, "x")),
      await failure(() => ctx.reply("x".repeat(4097))),
      await failure(() => ctx.reply("x", { message_thread_id: 77 })),
      await failure(() => ctx.api.sendMessage(ctx.chat.id, "limited")), // the test has ordered a 429
    ];
    await ctx.reply(lines.join("\n"));
  },
  async topic(ctx) {
    await ctx.reply(`in topic ${ctx.msg.message_thread_id}`);
  },
};

bot.on("edited_message:text", (ctx) => ctx.reply(`edited to ${ctx.msg.text}`));
bot.on("message:photo", async (ctx) => {
  const file = await ctx.getFile();
  const response = await fetch(`${apiRoot}/file/bot${token}/${file.file_path}`);
  await ctx.reply(`${ctx.msg.media_group_id ? "of an album" : "alone"}: ${await response.text()}`);
});
bot.on("message:text", async (ctx) => {
  const name = ctx.msg.text.split(" ")[0];
  if (Object.hasOwn(told, name)) await told[name](ctx);
});
bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery();
  await ctx.editMessageText(`pressed ${ctx.callbackQuery.data}`);
});
bot.on("message_reaction", (ctx) => ctx.reply(`reaction ${ctx.reactions().emojiAdded.join("")}`));
bot.on("my_chat_member", (ctx) => {
  if (ctx.myChatMember.new_chat_member.status === "member") return ctx.reply("here I am");
});
bot.use(async (ctx) => {
  const stopped = ctx.update.stopped_message_generation;
  if (stopped) await ctx.api.sendMessage(stopped.chat.id, `stopped ${stopped.draft_id}`);
});
bot.catch((error) => {
  console.error(error);
  process.exit(1);
});

await bot.start({
  allowed_updates: [
    "message", "edited_message", "callback_query", "message_reaction", "my_chat_member", "stopped_message_generation",
  ],
  onStart: () => console.log("started"),
});
