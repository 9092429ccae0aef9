package core_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// The same with several agents on Telegram: people write in the topics of a group and in direct chats, choose other agents and ask
// others once. Each message must be answered by its agent in its topic. Telegram does not recognise a message that is sent again, so
// an item whose send had an unknown outcome may be there more than once: right behind itself, and only if the host's log says so.

const (
	crashForum   = -1001
	topicOwner   = 1001
	topicGuest   = 1002
	topicAhead   = 3 // how many answers a topic waits for
	resentReport = "sending an item again whose outcome is unknown"
)

// Behaviour: accept-durable, agent-route, agent-choose, agent-ask, agent-open.
func TestCrashTelegramTopics(t *testing.T) {
	t.Parallel()
	kills := 8
	if long() {
		kills = 150
	}
	random, seed := crashSeed(t)
	t.Logf("CLAWHOST_CRASH_SEED=%d, %d kills", seed, kills)
	network := telegramtest.New(t)
	anna, ben := network.User(topicOwner), network.User(topicGuest)
	network.Forum(crashForum, "Projects")
	api := network.Topic(anna, crashForum, "API")
	news := network.Topic(anna, crashForum, "News")
	gatherings := []*gathering{
		{chat: crashForum, people: []*telegramtest.User{anna, ben}, topics: []*topic{
			newTopic("general", 0, "docs"), newTopic("api", api, "server"), newTopic("news", news, "docs"),
		}},
		{chat: anna.ID, people: []*telegramtest.User{anna}, topics: []*topic{newTopic("anna", 0, "main")}},
		{chat: ben.ID, people: []*telegramtest.User{ben}, topics: []*topic{newTopic("ben", 0, "server")}},
	}
	for _, g := range gatherings {
		g.network, g.random = network, rand.New(rand.NewPCG(seed, uint64(g.chat)))
	}

	w := newCrashWorld(t, random, crashHost{
		plugin: "clawhost-telegram", points: []string{"accepted", "result", "sent", "completed"},
		config: fmt.Sprintf(`
inbound { debounce = "0" }
queue {
  mode    = "queue"
  receipt = false
}
reply { stream = "off" }
access {
  owners = ["telegram:%[5]d"]
  allow  = ["telegram:%[6]d"]
  group "%[1]d" { require_mention = false }
}
agent "server" {
  workspace = "~/server"
  open_to   = "allowed"
}
agent "docs" {
  workspace = "~/docs"
  open_to   = "allowed"
}
route {
  chat   = "%[1]d"
  thread = "%[2]d"
  agent  = "server"
}
route {
  chat  = "%[1]d"
  agent = "docs"
}
route {
  user  = "telegram:%[6]d"
  agent = "server"
}
plugin "telegram" {
  config {
    token        = %[3]q
    api_endpoint = %[4]q
  }
}
`, crashForum, api, network.Token(), network.URL(), topicOwner, topicGuest),
	})
	defer w.close(t)

	for range kills / killsInARow {
		var people sync.WaitGroup
		writing, stop := context.WithTimeout(t.Context(), drainTime)
		for _, g := range gatherings {
			people.Go(func() { g.talk(writing) })
		}
		for range killsInARow {
			w.kill(t)
		}
		stop()
		people.Wait()
		w.keepUp(t, func() {
			for _, g := range gatherings {
				g.drain(t)
			}
		})
		if t.Failed() {
			return
		}
	}
	w.end(t)
	written, chosen, refused, repeats := 0, 0, 0, 0
	for _, g := range gatherings {
		g.drain(t)
		written, chosen, refused, repeats = written+g.written, chosen+g.chosen, refused+g.refused, repeats+g.repeats
		if reported := w.reported(t, g.chat); g.repeats > reported {
			t.Errorf("in chat %d, %d messages came again, of which the log reports %d", g.chat, g.repeats, reported)
		}
	}
	if written == 0 || long() && (chosen == 0 || refused == 0 || repeats == 0) {
		t.Errorf("not all happened: %d messages, %d choices, %d refusals, %d repeats", written, chosen, refused, repeats)
	}
	w.report(t, fmt.Sprintf("%d messages, %d choices of an agent and %d refused ones: 0 lost, 0 in another topic or by another agent, order kept",
		written, chosen, refused), repeats)
}

// reported is how often the host's log says that something in a chat may come again.
func (w *crashWorld) reported(t *testing.T, chat int64) (times int) {
	t.Helper()
	log, err := os.ReadFile(w.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, resentReport) && slices.Contains(strings.Fields(line), fmt.Sprintf("chat=%d", chat)) {
			times++
		}
	}
	return times
}

// gathering is a chat with the people who write there. One goroutine at a time uses it.
type gathering struct {
	network *telegramtest.Server
	random  *rand.Rand
	chat    int64
	people  []*telegramtest.User
	topics  []*topic // a direct chat has one, without a thread

	read                              int // messages of the chat
	written, chosen, refused, repeats int
	wrong                             []string
}

// topic is a conversation.
type topic struct {
	name      string
	thread    int
	routed    string // the agent that answers without a choice
	answers   string // the agent that answers
	questions int
	awaited   []string // what the bot has to say, in the order in which people have written
	last      string   // what it has said last
}

func newTopic(name string, thread int, routed string) *topic {
	return &topic{name: name, thread: thread, routed: routed, answers: routed}
}

// talk writes until ctx ends, but not far ahead of the answers.
func (g *gathering) talk(ctx context.Context) {
	for ctx.Err() == nil && len(g.wrong) == 0 {
		g.say(g.topics[g.random.IntN(len(g.topics))], g.people[g.random.IntN(len(g.people))])
		_ = g.await(ctx, topicAhead*len(g.topics)) // it fails when ctx ends
	}
}

// say has somebody write in a topic: a question, a choice of an agent, or a question to another agent.
func (g *gathering) say(in *topic, who *telegramtest.User) {
	names := []string{"default", "main", "server", "docs"}
	name := names[g.random.IntN(len(names))]
	agent := name
	if name == "default" {
		agent = in.routed
	}
	text, awaited := in.question(in.answers)
	kind := g.random.IntN(8)
	chooses, asksOnce := kind < 2, kind == 2
	switch {
	case chooses:
		text, awaited = "/agent "+name, agent+" answers here now"
	case asksOnce:
		text, awaited = in.question(agent)
		text = "/agent " + agent + " " + text
	}
	// The agent main is open to owners.
	refused := (chooses || asksOnce) && agent == "main" && in.routed != "main" && who.ID != topicOwner
	if refused {
		awaited = "You may not choose main here"
	}
	if slices.Contains(in.awaited, awaited) || strings.HasPrefix(in.last, awaited) {
		return // the answer could not be told from the other one, which may still come again
	}
	switch {
	case refused:
		g.refused++
	case chooses:
		g.chosen++
		in.answers = agent
	default:
		g.written++
		in.questions++
	}
	in.awaited = append(in.awaited, awaited)
	who.Post(telegramtest.Post{Chat: g.chat, Thread: in.thread, Text: text})
}

// question is the next question, and the answer of an agent: it says in which folder it works.
func (in *topic) question(to string) (text, answer string) {
	answer = fmt.Sprintf("answers %s %d.", in.name, in.questions+1)
	text = fmt.Sprintf(`[[stub {"tool": "basename $PWD", "again": true, "say": "$OUTPUT %s"}]] who?`, answer)
	folder := to
	if to == "main" {
		folder = "work"
	}
	return text, folder + " " + answer
}

// await reads until at most so many answers are missing, or something is wrong.
func (g *gathering) await(ctx context.Context, missing int) error {
	_, err := g.network.AwaitMessages(ctx, g.chat, func(all []telegramtest.Message) bool {
		for _, m := range all[g.read:] {
			g.hear(m)
		}
		g.read = len(all)
		awaited := 0
		for _, in := range g.topics {
			awaited += len(in.awaited)
		}
		return awaited <= missing || len(g.wrong) > 0
	})
	return err
}

// drain waits until all is answered, and says what is wrong.
func (g *gathering) drain(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), drainTime)
	defer cancel()
	if err := g.await(ctx, 0); err != nil {
		for _, in := range g.topics {
			t.Errorf("%s: lost is %q: %v", in.name, in.awaited, err)
		}
	}
	for _, wrong := range g.wrong {
		t.Error(wrong)
	}
}

// hear reads a message.
func (g *gathering) hear(m telegramtest.Message) {
	if m.From != g.network.Bot().ID {
		return
	}
	at := slices.IndexFunc(g.topics, func(in *topic) bool { return in.thread == m.Thread })
	if at < 0 {
		g.wrong = append(g.wrong, fmt.Sprintf("in topic %d of chat %d nobody has asked for %q", m.Thread, g.chat, m.Text))
		return
	}
	in := g.topics[at]
	text, marked := unmarked(m.Text)
	again, err := in.hear(text)
	if again && !marked {
		g.wrong = append(g.wrong, fmt.Sprintf("%s: %q came again, without a mark", in.name, text))
	}
	switch {
	case err != nil:
		g.wrong = append(g.wrong, fmt.Sprintf("%s: %v", in.name, err))
	case again:
		g.repeats++
	}
	in.last = text
}

var (
	agentSaid = regexp.MustCompile(`\w+ answers (?:here now|\w+ \d+\.)|You may not choose \w+ here`)
	agentOf   = regexp.MustCompile(`^(\w+) answers \w+ \d+\.$`)
)

// hear takes what the bot says off what is awaited. It reports whether the bot repeats its last message.
func (in *topic) hear(text string) (again bool, err error) {
	said := agentSaid.FindString(strings.Join(strings.Fields(text), " "))
	at := slices.Index(in.awaited, said)
	switch {
	case at < 0 && text == in.last:
		return true, nil
	case at < 0:
		return false, fmt.Errorf("heard %q, after %q; awaited are %q", text, in.last, in.awaited)
	}
	if agent := agentOf.FindStringSubmatch(said); agent != nil {
		for _, before := range in.awaited[:at] {
			if other := agentOf.FindStringSubmatch(before); other != nil && other[1] == agent[1] {
				return false, fmt.Errorf("heard %q before %q", said, before)
			}
		}
	}
	in.awaited = slices.Delete(in.awaited, at, at+1)
	return false, nil
}
