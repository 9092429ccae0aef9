package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/sdk/chat"
)

// client returns a client of the host that runs with the config.
func (a *app) client() (*admin.Client, error) {
	path, err := a.place()
	if err != nil {
		return nil, err
	}
	socket, err := config.LoadSocket(path, a.variable(path))
	if err != nil {
		return nil, err
	}
	return admin.NewClient(socket), nil
}

// show prints the result of ask: as JSON, or as rows of a table.
func show[T any](ctx context.Context, a *app, ask func(context.Context, *admin.Client) (T, error), table func(T) [][]string) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	value, err := ask(ctx, client)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(value)
	}
	return a.printRows(table(value))
}

// printRows prints a table.
func (a *app) printRows(list [][]string) error {
	var rows bytes.Buffer
	w := tabwriter.NewWriter(&rows, 0, 0, 2, ' ', 0)
	for _, row := range list {
		for i, cell := range row {
			row[i] = printable(cell)
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return a.printTable(rows.String())
}

// printTable prints lines of a table without blanks at their ends. On a terminal its headings stand out.
func (a *app) printTable(rows string) error {
	style := a.style()
	for line := range strings.Lines(rows) {
		line = strings.TrimRight(line, " \n")
		if line == strings.ToUpper(line) {
			line = style.strong(line)
		}
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

// logs is the command that shows the running host's log.
func (a *app) logs() *cobra.Command {
	var follow bool
	lines := 100
	c := a.command("logs", "Print the newest lines of the running host's log", "clawhost logs -f\nclawhost logs -n 1000 -json", func(ctx context.Context, args []string) error {
		if len(args) > 0 || lines < 0 {
			return usage("logs takes no arguments, and -n a number from 0 on")
		}
		client, err := a.client()
		if err != nil {
			return err
		}
		return client.Logs(ctx, admin.LogRequest{Lines: lines, Follow: follow, JSON: a.json},
			func(line string) { fmt.Fprintln(a.out, printable(line)) })
	})
	c.Flags().IntVarP(&lines, "lines", "n", lines, "the `number` of lines, of those that the host keeps")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with further lines, until the host ends")
	return c
}

// printable replaces the characters from chats and plugins that could control the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if controls(r) {
			return ' '
		}
		return r
	}, s)
}

// controls reports whether a character could control the terminal or change the display order.
func controls(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// encoder returns an encoder of JSON values for the output, which are read on a terminal, too.
func (a *app) encoder() *json.Encoder { return json.NewEncoder(escaping{a.out}) }

// escaping writes JSON, and escapes the characters of its strings that could control the terminal.
type escaping struct{ io.Writer }

// Write writes a value. Line ends stand between its parts: those in strings are escaped already.
func (e escaping) Write(value []byte) (int, error) {
	var text strings.Builder
	for _, r := range string(value) {
		if controls(r) && r != '\n' {
			fmt.Fprintf(&text, `\u%04x`, r)
		} else {
			text.WriteRune(r)
		}
	}
	_, err := io.WriteString(e.Writer, text.String())
	return len(value), err
}

func (a *app) status(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("status takes no arguments")
	}
	return show(ctx, a, func(ctx context.Context, c *admin.Client) (admin.Status, error) { return c.Status(ctx) }, func(s admin.Status) [][]string {
		rows := [][]string{
			{"clawhost " + s.Version, fmt.Sprintf("pid %d, up %s", s.PID, time.Since(s.Started).Round(time.Second))},
			{"turns", fmt.Sprintf("%d running, %d waiting", s.Running, s.Waiting)},
			{"messages out", fmt.Sprintf("%d pending, %d dead, possible duplicates so far: %d", s.Pending, s.Dead, s.Uncertain)},
			{"claude", strings.TrimSuffix(s.Claude.Processes()+"; "+s.Claude.CLI(), "; ")},
		}
		rows = append(rows, memoryRows(s.Claude)...)
		if s.Demo {
			rows = append(rows, []string{"demo", "a stand-in answers, not Claude"})
		}
		for _, p := range s.Plugins {
			rows = append(rows, []string{"plugin " + p.Name, strings.TrimSuffix(p.State+", "+doing(p), ", ")})
		}
		if len(s.Agents) > 1 {
			for _, agent := range s.Agents {
				rows = append(rows, []string{"agent " + agent.Label, fmt.Sprintf("%d running, %d waiting", len(agent.Running), agent.Waiting)})
			}
		}
		for _, q := range s.Questions {
			about := q.About
			if len(s.Agents) > 1 {
				about += " of agent " + q.Agent
			}
			rows = append(rows, []string{
				"question " + q.ID,
				fmt.Sprintf("%s, in %s, asked %s, may be answered by %s", about, q.Session, since(q.Since), strings.Join(q.May, ", ")),
			})
		}
		return append(rows, problemRows(s.Problems)...)
	})
}

// problemRows show what is wrong, and what to do.
func problemRows(list []health.Problem) (rows [][]string) {
	for _, p := range list {
		when := "for " + time.Since(p.Since).Round(time.Second).String()
		if !p.Gone.IsZero() {
			when = "gone for " + time.Since(p.Gone).Round(time.Second).String()
		}
		text := fmt.Sprintf("%s (%s, %s)", p.Text, p.Code, when)
		rows = append(rows, []string{string(p.Severity), text})
		if p.Advice != "" {
			rows = append(rows, []string{"", p.Advice})
		}
	}
	return rows
}

func (a *app) pairingList(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("pairing list takes no arguments")
	}
	return show(ctx, a, func(ctx context.Context, c *admin.Client) ([]domain.Pairing, error) { return c.Pairings(ctx) }, func(list []domain.Pairing) [][]string {
		rows := [][]string{{"CODE", "CHANNEL", "USER", "NAME", "ASKED"}}
		for _, p := range list {
			rows = append(rows, []string{p.Code, p.Channel, string(p.User), p.Name, since(p.CreatedAt)})
		}
		return rows
	})
}

func (a *app) pairingApprove(ctx context.Context, args []string) error {
	return a.pairing(ctx, args, "approve", (*admin.Client).ApprovePairing, "%s (%s:%s) may write now.\n")
}

func (a *app) pairingReject(ctx context.Context, args []string) error {
	return a.pairing(ctx, args, "reject", (*admin.Client).RejectPairing, "The request of %s (%s:%s) is rejected.\n")
}

// pairing acts on one request, selected by its code and optionally its channel.
func (a *app) pairing(
	ctx context.Context, args []string, verb string,
	act func(c *admin.Client, ctx context.Context, channel, code string) (domain.Pairing, error), said string,
) error {
	var channel string
	switch len(args) {
	case 1:
	case 2:
		channel = args[0]
	default:
		return usage("pairing %s takes an optional channel and a code", verb)
	}
	code, ok := access.ParseCode(args[len(args)-1])
	if !ok {
		return usage("%q is not a pairing code; `clawhost pairing list` shows them", args[len(args)-1])
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	p, err := act(client, ctx, channel, code)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(p)
	}
	_, err = fmt.Fprintf(a.out, said, printable(p.Name), p.Channel, printable(string(p.User)))
	return err
}

func (a *app) queue(ctx context.Context, args []string) error {
	many := false
	return show(ctx, a, func(ctx context.Context, c *admin.Client) (q admin.Queue, err error) {
		if many, err = several(ctx, c); err != nil {
			return q, err
		}
		return c.Queue(ctx)
	}, func(q admin.Queue) [][]string {
		rows := [][]string{withAgent(many, "AGENT", "SESSION", "LANE", "RUNNING", "WAITING", "SINCE")}
		for _, l := range q.Lanes {
			rows = append(rows, withAgent(many, l.Agent, l.Session, string(l.Lane), fmt.Sprint(l.Running), fmt.Sprint(l.Waiting), since(l.Since)))
		}
		rows = append(rows, nil, []string{"DESTINATION", "PENDING", "ATTEMPTS", "NEXT", "LAST ERROR"})
		for _, d := range q.Destinations {
			next := "now"
			if d.NextAt.After(time.Now()) {
				next = "in " + time.Until(d.NextAt).Round(time.Second).String()
			}
			rows = append(rows, []string{address(d.To), fmt.Sprint(d.Pending), fmt.Sprint(d.Attempts), next, d.LastError})
		}
		if len(q.Questions) > 0 {
			rows = append(rows, nil, append([]string{"QUESTION", "ABOUT"}, withAgent(many, "AGENT", "SESSION", "ASKED", "MAY ANSWER")...))
		}
		for _, o := range q.Questions {
			rows = append(rows, append([]string{o.ID, o.About}, withAgent(many, o.Agent, o.Session, since(o.Since), strings.Join(o.May, ", "))...))
		}
		return append(rows, nil, []string{fmt.Sprintf("Possible duplicates so far: %d.", q.Uncertain)})
	})
}

func (a *app) queueDead(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("queue dead takes no arguments")
	}
	return show(ctx, a, func(ctx context.Context, c *admin.Client) ([]admin.DeadLetter, error) { return c.Dead(ctx) }, func(list []admin.DeadLetter) [][]string {
		rows := [][]string{{"ID", "DESTINATION", "GIVEN UP", "ATTEMPTS", "ERROR", "TEXT"}}
		for _, d := range list {
			rows = append(rows, []string{
				fmt.Sprint(d.ID), address(d.To), since(d.DiedAt), fmt.Sprint(d.Attempts), d.Error,
				excerpt(d.Text),
			})
		}
		return rows
	})
}

func (a *app) queueRetry(ctx context.Context, args []string) error {
	return a.deadOnes(ctx, args, "retry", (*admin.Client).RetryDead, "queued for resending")
}

func (a *app) queueDrop(ctx context.Context, args []string) error {
	return a.deadOnes(ctx, args, "drop", (*admin.Client).DropDead, "removed")
}

// deadOnes acts on one dead letter, selected by its id, or on all.
func (a *app) deadOnes(
	ctx context.Context, args []string, verb string, act func(c *admin.Client, ctx context.Context, id int64) (int, error), said string,
) error {
	var id int64
	switch {
	case len(args) != 1:
		return usage("queue %s takes one ID, or all; `clawhost queue dead` lists the IDs", verb)
	case args[0] != "all":
		var err error
		if id, err = strconv.ParseInt(args[0], 10, 64); err != nil || id < 1 {
			return usage("%q is not the ID of a message; `clawhost queue dead` lists them", args[0])
		}
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	n, err := act(client, ctx, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(map[string]int{"messages": n})
	}
	messages := "messages"
	if n == 1 {
		messages = "message"
	}
	_, err = fmt.Fprintf(a.out, "%d %s %s.\n", n, messages, said)
	return err
}

func (a *app) sessions(ctx context.Context, args []string) error {
	many := false
	return show(ctx, a, func(ctx context.Context, c *admin.Client) (list []admin.Session, err error) {
		if many, err = several(ctx, c); err != nil {
			return nil, err
		}
		return allSessions(ctx, c)
	}, func(list []admin.Session) [][]string {
		rows := [][]string{withAgent(many, "AGENT", "SESSION", "KIND", "TITLE", "LAST MESSAGE", "TURNS", "COST")}
		for _, s := range list {
			rows = append(rows, withAgent(
				many, s.Agent, s.Key, s.Kind, s.Title, since(s.InteractedAt), fmt.Sprint(s.Usage.Turns),
				fmt.Sprintf("$%.4f", float64(s.Usage.CostMicros)/1e6),
			))
		}
		return rows
	})
}

// allSessions reads page after page.
func allSessions(ctx context.Context, c *admin.Client) ([]admin.Session, error) {
	all := []admin.Session{}
	for after := ""; ; after = all[len(all)-1].Key {
		page, err := c.Sessions(ctx, after)
		if err != nil || len(page) == 0 {
			return all, err
		}
		all = append(all, page...)
	}
}

// sessionsExport prints a header and then each entry, and each use of a plugin's tool that is known, oldest first, one JSON
// value a line.
func (a *app) sessionsExport(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usage("sessions export takes one session key; `clawhost sessions` lists them")
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	var pages [][]domain.Entry
	for before := int64(0); ; before = pages[len(pages)-1][0].ID {
		page, err := client.Transcript(ctx, args[0], before)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		pages = append(pages, page)
	}
	uses, err := client.ToolUses(ctx, args[0])
	if err != nil {
		return err
	}
	lines := a.encoder()
	if err := lines.Encode(map[string]any{"type": "session", "session": args[0], "exported_at": time.Now().UTC()}); err != nil {
		return err
	}
	slices.Reverse(pages)
	for _, e := range slices.Concat(pages...) {
		for ; len(uses) > 0 && uses[0].At.Before(e.At); uses = uses[1:] {
			if err := lines.Encode(toolLine(uses[0])); err != nil {
				return err
			}
		}
		if err := lines.Encode(e.Exported()); err != nil {
			return err
		}
	}
	for _, u := range uses {
		if err := lines.Encode(toolLine(u)); err != nil {
			return err
		}
	}
	return nil
}

func toolLine(u domain.ToolUse) map[string]any {
	return map[string]any{
		"type": "tool", "at": u.At.UTC(), "turn": u.Turn, "plugin": u.Plugin, "tool": u.Tool, "took_ms": u.Took.Milliseconds(),
		"failed": u.Failed, "details": u.Details,
	}
}

func address(a chat.Address) string {
	text := a.Channel + ":" + string(a.Chat)
	if a.Thread != "" {
		text += ":" + string(a.Thread)
	}
	return text
}

// excerpt is the beginning of a text.
func excerpt(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// since says how long ago a time was.
func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return time.Since(t).Round(time.Second).String() + " ago"
}
