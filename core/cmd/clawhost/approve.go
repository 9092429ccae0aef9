package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/operate/admin"
)

// approve is the command that lists, shows and answers what Claude asks.
func (a *app) approve() *cobra.Command {
	c := a.command("approve [ID [ANSWER …]]", "List what Claude asks, show one question in full, or answer it", `
clawhost approve
clawhost approve 7F3AB
clawhost approve 7F3AB once
clawhost approve 7F3AB no use the test database`, a.runApprove)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return a.complete(c, openQuestions)
		case 1:
			return a.complete(c, func(ctx context.Context, c *admin.Client) ([]cobra.Completion, error) {
				return answersTo(ctx, c, args[0])
			})
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	return c
}

func (a *app) runApprove(ctx context.Context, args []string) error {
	switch len(args) {
	case 0:
		return show(ctx, a, func(ctx context.Context, c *admin.Client) ([]admin.OpenQuestion, error) { return c.Questions(ctx) }, questionRows)
	case 1:
		return a.showQuestion(ctx, args[0])
	}
	answer := strings.TrimSpace(strings.Join(args[1:], " "))
	if answer == "" {
		return usage("approve needs an answer behind the ID; `clawhost approve %s` shows which there are", args[0])
	}
	client, err := a.client()
	if err != nil {
		return err
	}
	if err := client.AnswerQuestion(ctx, args[0], answer); err != nil {
		return err
	}
	id := strings.ToUpper(args[0])
	if a.json {
		return a.print(map[string]string{"id": id, "answer": answer})
	}
	_, err = fmt.Fprintf(a.out, "Question %s is answered.\n", printable(id))
	return err
}

func questionRows(list []admin.OpenQuestion) [][]string {
	rows := [][]string{{"QUESTION", "ABOUT", "SESSION", "ASKED", "ENDS", "TEXT"}}
	for _, q := range list {
		ends := "in " + time.Until(q.ExpiresAt).Round(time.Second).String()
		rows = append(rows, []string{q.ID, q.About, q.Session, since(q.Since), ends, excerpt(strings.Join(strings.Fields(cmp.Or(q.Text, q.Shown)), " "))})
	}
	return rows
}

// showQuestion prints all that people see of a question, and its answers.
func (a *app) showQuestion(ctx context.Context, id string) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	q, err := openQuestion(ctx, client, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.print(q)
	}
	var lines []string
	say := func(label, text string) {
		if text != "" {
			lines = append(lines, fmt.Sprintf("%-9s%s", label, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", 9))))
		}
	}
	say("question", q.ID+" about "+q.About+" in "+q.Session)
	say("asked", since(q.Since)+", ends in "+time.Until(q.ExpiresAt).Round(time.Second).String())
	say("for", q.For)
	say("why", q.Purpose)
	say("text", q.Text)
	say("input", q.Shown)
	say("with", q.Other)
	say("reason", q.Why)
	say("outside", q.Outside)
	if q.Missing > 0 {
		say("note", fmt.Sprintf("%d characters of it are not shown", q.Missing))
	}
	if q.Doubtful {
		say("note", "it can be read in more than one way: say no unless you know why")
	}
	for _, o := range q.Options {
		say("answer", strings.TrimSuffix(o.Answer+": "+cmp.Or(o.Help, o.Label), ": "))
	}
	for _, line := range strings.Split(strings.Join(lines, "\n"), "\n") {
		if _, err := fmt.Fprintln(a.out, strings.TrimRight(printable(line), " ")); err != nil {
			return err
		}
	}
	return nil
}

// openQuestion returns the open question with an id.
func openQuestion(ctx context.Context, c *admin.Client, id string) (admin.OpenQuestion, error) {
	list, err := c.Questions(ctx)
	if err != nil {
		return admin.OpenQuestion{}, err
	}
	for _, q := range list {
		if strings.EqualFold(q.ID, id) {
			return q, nil
		}
	}
	return admin.OpenQuestion{}, fmt.Errorf("no open question has the ID %q; `clawhost approve` lists those that are open", excerpt(printable(id)))
}

func openQuestions(ctx context.Context, c *admin.Client) (ids []cobra.Completion, err error) {
	list, err := c.Questions(ctx)
	for _, q := range list {
		ids = append(ids, described(q.ID, q.About+" in "+q.Session))
	}
	return ids, err
}

func answersTo(ctx context.Context, c *admin.Client, id string) (answers []cobra.Completion, err error) {
	q, err := openQuestion(ctx, c, id)
	for _, o := range q.Options {
		answers = append(answers, described(o.Answer, o.Label))
	}
	return answers, err
}
