// Package scripts proves what clawhost does as a person sees it: each script in testdata/script is one behaviour, shown by
// the real binaries, with the stand-in for claude and a Telegram, a Discord and a WhatsApp of the test's own, or at the page of
// the web chat. It has only tests.
//
// A script has a folder, a host and a bot to itself. Anna (1001), Bob (1002) and Carol (1003) write to the bot, alone, in
// the group "kitchen" (-1001) or in the forum "house" (-1002). A chat is named by the person or the group, with the topic
// behind it ("house/tea") and another bot before it: a second one of Telegram ("work:anna"), or the one of Discord
// ("discord:anna"), where there is the channel "discord:kitchen" (901) and threads in it ("discord:kitchen/tea"). What
// mentions @claw_bot mentions the bot in each. A script whose config names WhatsApp has "whatsapp:anna" (+15550000002), Bob and
// Carol (the next two numbers), and their group "whatsapp:kitchen"; the numbered lines of a message are its buttons there. At
// the page of the web chat sits Anna: "webchat:anna" is its first conversation, "webchat:anna/tea" another one; "server: " stands before what the agent "server" has
// written, where the page names it. A script without
// a config.hcl has testdata/config.hcl.
// The commands in addition to those of testscript:
//
//	host                       start the host with config.hcl and wait until it works; "! host" wants it to refuse
//	host stop, host kill       end it in order, or by SIGKILL
//	host freeze, host thaw     have it stand still, and go on
//	log PATTERN                wait until a line of the host's log matches
//	logged COUNT PATTERN       the host has logged so many lines that match until now
//	clawhost ARGS…             run the command against the host
//	pairs LABEL                link the account of a channel as its owner does; nothing where a token does
//	capture NAME PATTERN       set a variable to what the pattern's group matches in the stdout
//	says [FLAGS] WHO TEXT      write a message: -in CHAT, -reply PATTERN (to the newest message that matches), -quote TEXT,
//	                           -forwarded NAME, -media KIND -file FILE, -text FILE instead of TEXT
//	types WHO CHAT             have someone type, on a network that tells the bot
//	topics GROUP               make a forum of a group
//	upgrades WHO den hall      have someone make the supergroup "hall" (-1005) of the basic group "den" (-5)
//	expect CHAT [PATTERN…]     wait for the bot's next message, one for each pattern, which it must match; it is the stdout;
//	                           with -among CHAT others may come before it
//	shows CHAT PATTERN [BUTTON…]
//	                           wait until the newest message of the bot that matches has these buttons, each named by a part of
//	                           its label ("-": none); it is the stdout; "! shows" waits until no message matches
//	sends CHAT NAME FILE       wait until the bot has sent a file of that name with the content of FILE
//	taken                      wait until the host has taken in all that people did; for Discord the log's level must be debug
//	drafts CHAT PATTERN        wait until the draft in a private chat, or on the page, matches; it is the stdout
//	stops CHAT                 press the button of that draft
//	presses WHO CHAT PATTERN BUTTON
//	                           press a button of the bot's newest message that matches
//	picks [-freeze] WHO CHAT COMMAND
//	                           pick a command of Discord's menu; with -freeze wait until Discord shows that it works, and freeze
//	                           the host before the plugin hears of that
//	expires                    have Discord show as failed what was picked or pressed and is not acknowledged
//	edits WHO CHAT PATTERN TEXT
//	                           give the newest message that matches another text
//	replies CHAT PATTERN TO    the newest message of the bot that matches is a reply to one that matches TO ("-": to none)
//	id NAME CHAT PATTERN       set a variable to the id of the first message that matches
//	calls CHAT METHOD          wait until the bot has called a method of the Bot API for a chat since it was silent last;
//	                           "! calls" wants that it has not
//	refuse METHOD TIMES STATUS TEXT
//	                           have the next calls of a method fail with a text of the Bot API's
//	stalls METHOD, resumes METHOD
//	                           have the next call of a method wait, and let it go on
//	blocks WHO, unblocks WHO   have someone block the bot, and take that back
//	reacted CHAT PATTERN EMOJI wait until the bot has put an emoji on the newest message that matches, or has taken it back ("-")
//	served LABEL N             the bot's network was asked for so many files of people's
//	posts [-plain] [-id ID] [-event EVENT] [-secret SECRET] STATUS HOOK FILE
//	                           have a program send a signed request to a webhook, again until it is answered, and want this status;
//	                           the answer is the stdout. It is in GitHub's form, or in the plain one
//	pluginkill LABEL           end the process of a plugin by SIGKILL
//	scrape [-openmetrics]      ask for the metrics at $ADMIN_ADDRESS with the token of all scripts; they are the stdout
//	watched                    promtool and a Prometheus that scrapes the host find no fault with metrics, alerts and dashboard
//	trace NAME…                wait until the collector at $OTLP_URL has a trace with spans of these names; its tree is the stdout
//	exported                   all that the collector has is the stdout; it forgets that
//	disk FOLDER SIZE           make a folder a disk of this size, or change its size; needs [mounts]
//	silent [CHAT…]             wait until the host has nothing to do; the bot must have written nothing since
//	delivered                  wait until the host knows that all it has sent has arrived
//	prompt [PATTERN…]          wait for the next text that claude reads, as for expect; "! prompt" wants none
//	told PATTERN               wait until a text that matches was handed to claude, which may be busy and read it later
//	held NAME, release NAME    wait until a turn's tool runs "hold NAME", and let that end
//	unpacks BUNDLE FOLDER      put the files of a bundle for support into a folder, profiles unpacked
//	lacks FOLDER PATTERN…      no file of the folder has, in upper or lower case, what matches
//	menu PATTERN               wait until the bot's menu of commands matches; it is the stdout
//
// In a prompt the times are replaced by NOW and the ids of messages and threads by ID; how long ago the previous
// message was, the ids of messages in their first lines, and the folder of outgoing files, is left out, the latter also
// where the stand-in repeats it to a chat. The scripts wait for what happens, never for a time.
package scripts
