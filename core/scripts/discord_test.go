package scripts_test

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/clawhost/clawhost/core/internal/base/journal"
	"github.com/clawhost/clawhost/plugins/discord/discordtest"
)

// discord is a Discord. The ids of its people are as everywhere.
type discord struct {
	*discordtest.Server
	log      *journal.Journal
	channels map[string]chat  // by name, such as "anna" or "kitchen/tea"
	did      []*regexp.Regexp // what the plugin's log says of what people did, once the host has it
}

func newDiscord(log *journal.Journal) *discord {
	d := &discord{Server: discordtest.Start(), log: log, channels: map[string]chat{"kitchen": {id: 901}}}
	for name, id := range people {
		d.User(snowflake(id), name)
		d.channels[name] = chat{id: id + 1000}
		d.Direct(snowflake(id), snowflake(id+1000))
	}
	d.Channel("900", "901", "kitchen")
	return d
}

func snowflake(id int64) string { return strconv.FormatInt(id, 10) }

// channel is the channel that is a chat or a thread of it.
func (c chat) channel() string {
	if c.thread != 0 {
		return snowflake(c.thread)
	}
	return snowflake(c.id)
}

func (d *discord) find(name string) (chat, bool) {
	if in, known := d.channels[name]; known {
		return in, true
	}
	group, thread, _ := strings.Cut(name, "/")
	if group != "kitchen" {
		return chat{}, false
	}
	in := chat{901, 910 + int64(len(d.channels))}
	d.Thread("901", in.channel(), thread)
	d.channels[name] = in
	return in, true
}

// write waits for the bot, which hears of nothing before it has come for the first time.
func (d *discord) write(ctx context.Context, who int64, in chat, p post) error {
	select {
	case <-d.First():
	case <-ctx.Done():
		return fmt.Errorf("the bot does not come to Discord: %w", ctx.Err())
	}
	var options []discordtest.Option
	if p.file != nil {
		options = append(options, discordtest.WithFile(p.fileName, mime.TypeByExtension(filepath.Ext(p.fileName)), p.file))
	}
	if p.replyTo != 0 {
		options = append(options, discordtest.ReplyingTo(snowflake(p.replyTo)))
	}
	id := d.Say(in.channel(), snowflake(who), mentioning(p.text), options...)
	d.expect(id + " ")
	return nil
}

func (d *discord) types(who int64, in chat) error {
	d.Type(in.channel(), snowflake(who))
	return nil
}

// mentioning is a text as people's apps send it.
func mentioning(text string) string {
	return strings.ReplaceAll(text, "@claw_bot", "<@"+discordtest.BotID+">")
}

// expect has taken wait until the plugin knows that the host has an event.
func (d *discord) expect(event string) {
	d.did = append(d.did, regexp.MustCompile("event submitted: event=dc:"+event))
}

func (d *discord) edit(_ int64, m message, text string) {
	d.Change(snowflake(m.id), mentioning(text))
	d.expect(snowflake(m.id) + ":edit:")
}

func (d *discord) press(who int64, m message, data string) {
	d.expect("interaction:" + d.Press(snowflake(m.id), snowflake(who), data) + " ")
}

func (d *discord) await(ctx context.Context, in chat, fulfil func([]message) bool) ([]message, error) {
	var list []message
	_, err := d.AwaitMessages(ctx, in.channel(), func(all []discordtest.Message) bool {
		list = nil
		for _, m := range all {
			list = append(list, shownIn(in, m))
		}
		return fulfil(list)
	})
	return list, err
}

func shownIn(in chat, m discordtest.Message) message {
	shown := message{in: in, id: idOf(m.ID), text: m.Text, replyTo: idOf(m.ReplyTo)}
	if m.Author != discordtest.BotID {
		shown.from = idOf(m.Author)
	}
	for _, b := range m.Buttons {
		shown.buttons = append(shown.buttons, button{b.Label, b.Data})
	}
	if len(m.Reactions) > 0 {
		shown.reaction = m.Reactions[len(m.Reactions)-1]
	}
	if len(m.Files) > 0 {
		shown.fileName, shown.file = m.Files[0].Name, m.Files[0].Content
	}
	return shown
}

// idOf is zero for what is no id.
func idOf(text string) int64 {
	id, _ := strconv.ParseInt(text, 10, 64)
	return id
}

func (d *discord) taken(ctx context.Context) error {
	for _, event := range d.did {
		if err := d.log.Await(ctx, nil, 0, event); err != nil {
			return err
		}
	}
	return nil
}

func (d *discord) chats() []chat {
	var list []chat
	for _, in := range d.channels {
		if len(d.Messages(in.channel())) > 0 {
			list = append(list, in)
		}
	}
	return list
}

// discord returns a chat of Discord's, and its Discord.
func (s *stage) discord(name string) (*discord, chat, error) {
	b, in, err := s.find(name)
	if err != nil {
		return nil, chat{}, err
	}
	d, ok := b.network.(*discord)
	if !ok {
		return nil, chat{}, fmt.Errorf("%s is no chat of Discord's", name)
	}
	return d, in, nil
}

// picks is the command of the same name.
func (s *stage) picks(_ *testscript.TestScript, neg bool, args []string) error {
	freeze := len(args) > 0 && args[0] == "-freeze"
	if freeze {
		args = args[1:]
	}
	if neg || len(args) != 3 || s.host == nil {
		return errors.New("usage: picks [-freeze] WHO CHAT COMMAND, where a host runs")
	}
	d, in, err := s.discord(args[1])
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	if freeze {
		stop := s.host.process.Process
		d.Fail(http.MethodPost, "/callback", 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			recorded := httptest.NewRecorder()
			next.ServeHTTP(recorded, r)
			done <- stop.Signal(syscall.SIGSTOP)
			w.WriteHeader(recorded.Code)
		})
	}
	d.Use(in.channel(), snowflake(people[args[0][strings.IndexByte(args[0], ':')+1:]]), args[2], "")
	if !freeze {
		return nil
	}
	ctx, cancel := s.await()
	defer cancel()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("the bot acknowledges nothing")
	}
}

// expires is the command of the same name.
func (s *stage) expires(*testscript.TestScript, []string) error {
	d, _, err := s.discord("discord:anna")
	if err == nil {
		d.Expire()
	}
	return err
}
