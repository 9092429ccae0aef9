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
		places, wrong, err := a.readPlaces("forget -person " + process.Quoted(person))
		if err != nil {
			return err
		}
		if wrong != nil { // it may not name the person's other ids, or the plugins that keep something
			return fmt.Errorf("the config must read as for the host, with its environment; nothing was done:\n%s", visible(wrong.Error()))
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
	a.sayPlugins(r, dry)
	has, database := "These files still have the person, by what is in brackets:", "The database still has the person there, by what is in brackets:"
	if dry {
		has, database = "These files have the person now, by what is in brackets:", "The database would still have the person there, by what is in brackets:"
	}
	if len(r.Database) > 0 {
		fmt.Fprintln(a.out, database)
	}
	for _, m := range r.Database {
		fmt.Fprintf(a.out, "  %s: %d rows (%s)\n", printable(m.Where), m.Rows, printable(m.Term))
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
Backups that are not listed, exports and files for support that were put elsewhere, the journal, and the networks have what they have.`)
}

// sayPlugins says what the plugins have done with their files.
func (a *app) sayPlugins(r forget.Report, dry bool) {
	for _, p := range r.Plugins {
		switch {
		case p.Why != "":
			fmt.Fprintf(a.out, "Plugin %s was not asked: %s. It keeps files of its own: ask its author, or delete what you can do without in %s.\n",
				printable(p.Label), printable(p.Why), printable(p.Folder))
		case dry:
			fmt.Fprintf(a.out, "Plugin %s would be asked to delete what it keeps of the person in %s.\n", printable(p.Label), printable(p.Folder))
		default:
			fmt.Fprintf(a.out, "Plugin %s has deleted what it kept of the person in %s.\n", printable(p.Label), printable(p.Folder))
		}
		for _, line := range p.Left {
			fmt.Fprintf(a.out, "  %s\n", printable(line))
		}
	}
}
