package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// ask is the command that asks Claude something and prints the answer: in a terminal as it grows, else when it is whole.
func (a *app) ask() *cobra.Command {
	var q admin.Prompt
	var key string
	c := a.command("ask TEXT|-", "Ask Claude something; - reads the text from the input", `
clawhost ask 'Which of our services log most?'
git diff | clawhost ask -
clawhost ask -session telegram:1001 'Summarise what we have agreed on.'`, func(ctx context.Context, args []string) (err error) {
		if q.Text, err = a.text(args); err != nil {
			return err
		}
		if strings.TrimSpace(q.Text) == "" {
			return usage("ask needs a question")
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		page := page{out: a.out, notes: a.err, grows: isTerminal(a.out) && !a.json}
		notice := a.noticeAfter(quietFor)
		answer, err := client.Ask(ctx, key, q, func(e admin.TurnEvent) {
			if e.Queued != nil {
				notice.about(*e.Queued)
				return
			}
			notice.end()
			page.show(e)
		})
		notice.end()
		switch {
		case err != nil:
			page.leave()
			return err
		case a.json && answer.Error == "":
			return a.print(answer)
		case a.json:
			return errors.Join(a.print(answer), errSaid)
		default:
			return page.end(answer)
		}
	})
	c.Flags().StringVar(&q.Agent, "agent", "", "the `agent` that answers; `clawhost agent` lists them")
	c.Flags().StringVar(&q.Session, "session", "", "the `key` of a session whose conversation continues; `clawhost sessions` lists them")
	c.Flags().StringVar(&key, "key", "", "a `key` of your choice: the same again waits for the same answer")
	a.completesFlag(c, "agent", agentLabels)
	a.completesFlag(c, "session", sessionKeys)
	return c
}

// quietFor is how long nothing of an answer comes before ask says what it waits for.
const quietFor = 2 * time.Second

// waitNotice says what a question waits for, once, if nothing of its answer comes for a while.
type waitNotice struct {
	queued  chan admin.Queued // receives one value
	stop    context.CancelFunc
	waiting sync.WaitGroup
}

func (a *app) noticeAfter(wait time.Duration) *waitNotice {
	ctx, stop := context.WithCancel(context.Background()) // it ends with end
	n := &waitNotice{queued: make(chan admin.Queued, 1), stop: stop}
	n.waiting.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		what := "the host has not taken the question yet"
		select {
		case queued := <-n.queued:
			what = "Claude works on the answer, in session " + queued.Session
			if queued.Waiting > 0 {
				what = fmt.Sprintf("messages before it in session %s: %d; `clawhost queue` shows them", queued.Session, queued.Waiting)
			}
		default:
		}
		fmt.Fprintf(a.err, "clawhost: waiting: %s (Ctrl-C stops the turn)\n", printable(what))
	})
	return n
}

// about tells where the question waits. It is called once.
func (n *waitNotice) about(queued admin.Queued) { n.queued <- queued }

// end ends it. Nothing is said afterwards.
func (n *waitNotice) end() {
	n.stop()
	n.waiting.Wait()
}

// page prints an answer.
type page struct {
	out   io.Writer
	notes io.Writer // what is not the answer
	grows bool      // it shows the answer as it grows
	shown string    // of the answer
}

// show prints more of the answer, or why it is missing.
func (p *page) show(e admin.TurnEvent) {
	switch {
	case e.Held != "":
		p.leave()
		fmt.Fprintf(p.notes, "clawhost: waiting: %s\n", printable(e.Held))
	case !p.grows:
	case e.Restarted:
		p.leave()
	default:
		p.shown += e.More
		fmt.Fprint(p.out, visible(e.More))
	}
}

// leave ends what was shown of an answer that does not go on like that.
func (p *page) leave() {
	if p.shown != "" {
		fmt.Fprint(p.out, "\n\n")
	}
	p.shown = ""
}

// end prints the rest of the answer, or returns why it is missing.
func (p *page) end(answer admin.Answer) error {
	if !strings.HasPrefix(answer.Text, p.shown) || answer.Error != "" {
		p.leave()
	}
	if answer.Error != "" {
		return errors.New(unfenced(answer.Error))
	}
	_, err := fmt.Fprintln(p.out, visible(answer.Text[len(p.shown):]))
	return err
}

// unfenced makes a failure safe to print. It shows literal text indented, without its fences.
func unfenced(text string) string {
	var lines []string
	literal := false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case strings.HasPrefix(line, "```"):
			literal = !literal
		case strings.TrimSpace(line) == "":
		case literal:
			lines = append(lines, "  "+printable(line))
		default:
			lines = append(lines, printable(line))
		}
	}
	return strings.Join(lines, "\n")
}

// visible makes a text of several lines safe to print: it keeps lines and tabs.
func visible(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for n := range cells {
			cells[n] = printable(cells[n])
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}
