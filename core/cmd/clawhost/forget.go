package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/forget"
)

// forget is the command that deletes what the host keeps of one person.
func (a *app) forget() *cobra.Command {
	var person string
	var names []string
	var dry, yes bool
	c := a.command("forget -person CHANNEL:USER", "Delete what the host keeps of one person, while no host runs", `
clawhost forget -person telegram:1001 -dry-run
clawhost forget -person telegram:1001 -name 'Ann Example'`, func(ctx context.Context, args []string) error {
		if len(args) > 0 || person == "" {
			return usage("forget needs -person and a person, such as telegram:1001")
		}
		if _, err := forget.Parse(person); err != nil {
			return usage("%s", err)
		}
		places, err := a.places("forget -person " + process.Quoted(person))
		if err != nil {
			return err
		}
		question := fmt.Sprintf("Delete what the host keeps of %s? This cannot be undone.", printable(person))
		if err := a.agreed(ctx, yes || dry, question); err != nil {
			return err
		}
		report, err := forget.Run(ctx, forget.Options{Config: places, Person: person, Names: names, DryRun: dry})
		if err != nil {
			return err
		}
		if a.json {
			return a.print(report)
		}
		a.sayForgotten(report, dry)
		return nil
	})
	c.Flags().StringVar(&person, "person", "", "the `person`, as channel:user; whom session.identity_links names with them, too")
	c.Flags().StringArrayVar(&names, "name", nil, "a `name` by which chats show them, to be found in groups; may be given several times")
	c.Flags().BoolVar(&dry, "dry-run", false, "only show what would be deleted, and what has the person")
	c.Flags().BoolVar(&yes, "yes", false, "do not ask before it is done")
	return c
}

// agreed asks the person at the terminal, unless -yes has agreed already.
func (a *app) agreed(ctx context.Context, yes bool, question string) error {
	if yes {
		return nil
	}
	nobody := errors.New("there is no terminal to ask at, so nothing was done: -yes does it, -dry-run only shows it")
	in, ok := a.in.(*os.File)
	if !ok || !isTerminal(in) {
		return nobody
	}
	fmt.Fprint(a.out, question+" [y/N] ")
	answer := make(chan string, 1)
	go func() { // until this process ends: reading from a terminal cannot be interrupted
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(line)
	}()
	select {
	case said := <-answer:
		switch strings.TrimSpace(said) {
		case "y", "yes":
			return nil
		}
		if said == "" { // such as from /dev/null
			return nobody
		}
	case <-ctx.Done():
	}
	return errors.New("nothing was done")
}

// sayForgotten says what was deleted, and what still has the person.
func (a *app) sayForgotten(r forget.Report, dry bool) {
	verb := "Deleted"
	if dry {
		verb = "To be deleted"
	}
	fmt.Fprintf(a.out, "%s of %s:\n", verb, printable(strings.Join(r.Users, ", ")))
	for _, table := range r.Tables() {
		fmt.Fprintf(a.out, "  %-20s %6d rows\n", table, r.Rows[table])
	}
	if !dry {
		fmt.Fprintf(a.out, "  %-20s %6d files and folders\n", "files", r.Files)
	}
	if len(r.Rows) == 0 {
		fmt.Fprintln(a.out, "  nothing in the database: check the person's channel and id")
	}
	if r.Waiting > 0 {
		fmt.Fprintf(a.out, "Their messages in groups that wait for answers stay until then: %d. Run this again after that.\n", r.Waiting)
	}
	has := "These files still have the person, by what is in brackets:"
	if dry {
		has = "These files have the person now, by what is in brackets:"
	}
	if len(r.Left) > 0 {
		fmt.Fprintln(a.out, has)
	}
	for _, f := range r.Left {
		fmt.Fprintf(a.out, "  %s (%s)\n", printable(f.Path), printable(f.Term))
	}
	if r.More {
		fmt.Fprintln(a.out, "  and more")
	}
	for _, b := range r.Backups {
		where := "written to the output"
		if b.Path != "" {
			where = b.Path
		}
		fmt.Fprintf(a.out, "A backup has what there was at %s: %s\n", b.Made.Local().Format(time.DateTime), printable(where))
	}
	fmt.Fprintln(a.out, `What others said of them, and what they said in groups, is not recorded as theirs: it stays, with Claude's memory of those groups.
Backups that are not listed, the journal, and the networks have what they have.`)
}
