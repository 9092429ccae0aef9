package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/clawhost/clawhost/sdk"
)

const cliHelp = `Shows and changes the schedules of all chats.

  clawhost schedule list           all schedules
  clawhost schedule show N         one of them
  clawhost schedule history N      its last runs
  clawhost schedule pause N
  clawhost schedule resume N
  clawhost schedule run N          run it now
  clawhost schedule delete N

With -json, list, show and history print JSON.
`

// RunCLI serves `clawhost schedule`.
func (s *schedules) RunCLI(ctx context.Context, call sdk.CLICall) (sdk.CLIResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	args := slices.Clone(call.Args)
	asJSON := slices.Contains(args, "-json") || slices.Contains(args, "--json")
	args = slices.DeleteFunc(args, func(a string) bool { return a == "-json" || a == "--json" })
	if len(args) == 0 || slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		return sdk.CLIResult{Stdout: cliHelp}, nil
	}
	wrong := func(format string, values ...any) (sdk.CLIResult, error) {
		return sdk.CLIResult{Stderr: fmt.Sprintf(format, values...) + "\n", Code: 2}, nil
	}
	action := args[0]
	if action == "list" && len(args) == 1 {
		return s.printList(asJSON)
	}
	if !slices.Contains([]string{"show", "history", "pause", "resume", "run", "delete"}, action) || len(args) != 2 {
		return wrong("clawhost schedule %s is not used like this; clawhost schedule help says how", cutText(strings.Join(args, " "), 80))
	}
	id, err := strconv.Atoi(args[1])
	k := s.all[id]
	if err != nil || k == nil {
		return sdk.CLIResult{Stderr: fmt.Sprintf("There is no schedule %s; clawhost schedule list shows them.\n", cutText(args[1], 40)), Code: 1}, nil
	}
	switch {
	case action == "show" && asJSON:
		return printJSON(s.export(k.value))
	case action == "history" && asJSON:
		return printJSON(append([]entry{}, k.value.History...))
	case action == "show":
		return sdk.CLIResult{Stdout: plain(s.show(k.value, false).Text) + "\nChat: " + k.value.chatName() + "\n"}, nil
	case action == "history":
		return sdk.CLIResult{Stdout: plain(strings.TrimSpace(s.history(k.value))) + "\n"}, nil
	}
	reply, err := s.change(ctx, k, "", action, nil)
	if refused, ok := errors.AsType[refusal](err); ok {
		return sdk.CLIResult{Stderr: plain(string(refused)) + "\n", Code: 1}, nil
	}
	return sdk.CLIResult{Stdout: plain(reply.Text) + "\n"}, err
}

// plain takes out the marks of Markdown that the texts have.
func plain(text string) string { return strings.NewReplacer("**", "", "`", "").Replace(text) }

// exported is a schedule in JSON.
type exported struct {
	Number int       `json:"number"`
	Chat   string    `json:"chat"`
	Person string    `json:"person"` // channel:user
	When   string    `json:"when"`
	Kind   string    `json:"kind"` // send or ask
	Text   string    `json:"text"`
	Next   time.Time `json:"next,omitzero"`
	Paused string    `json:"paused,omitempty"`
	Own    bool      `json:"own_conversation"`
	Ran    int       `json:"ran"`
	Missed int       `json:"missed"`
}

func (s *schedules) export(r row) exported {
	e := exported{
		Number: r.ID, Chat: r.chatName(), Person: r.Person.Channel + ":" + string(r.Person.ID), When: s.name(r), Kind: "send", Text: r.Text,
		Next: s.next(r), Paused: r.Paused, Own: r.Own, Ran: r.Ran, Missed: r.Missed,
	}
	if r.Ask {
		e.Kind = "ask"
	}
	return e
}

func (s *schedules) printList(asJSON bool) (sdk.CLIResult, error) {
	list := s.sorted(func(row) bool { return true })
	if asJSON {
		all := []exported{}
		for _, k := range list {
			all = append(all, s.export(k.value))
		}
		return printJSON(all)
	}
	if len(list) == 0 {
		return sdk.CLIResult{Stdout: "There are no schedules.\n"}, nil
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NUMBER\tCHAT\tWHEN\tSTATE\tKIND\tTEXT")
	for _, k := range list {
		r, kind := k.value, "send"
		if r.Ask {
			kind = "ask"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\n", r.ID, r.chatName(), s.name(r), s.state(r), kind, short(r.Text))
	}
	if err := table.Flush(); err != nil {
		return sdk.CLIResult{}, err
	}
	return sdk.CLIResult{Stdout: b.String()}, nil
}

func printJSON(value any) (sdk.CLIResult, error) {
	raw, err := json.MarshalIndent(value, "", "  ")
	return sdk.CLIResult{Stdout: string(raw) + "\n"}, err
}
