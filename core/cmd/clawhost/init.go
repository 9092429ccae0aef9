package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"charm.land/huh/v2"
	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/access"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
	"github.com/clawhost/clawhost/core/internal/operate/setup"
)

const (
	// ownerWait is how long init waits for the owner's message.
	ownerWait = 10 * time.Minute
	// webchat is the network that needs no account. Who has its link is its owner.
	webchat      = "webchat"
	webchatOwner = "webchat:local"
	// memory is the plugin that a new config has besides the networks.
	memory = "memory"
)

// beginning is what `clawhost init` is told.
type beginning struct {
	networks, owners, sets         []string
	name, workspace, state, claude string
	pair, overwrite, yes           bool
}

// usualBeginning is what init is told if no flag says otherwise.
func usualBeginning(interactive bool) beginning {
	return beginning{name: "Claw", workspace: "~/claw", claude: "claude", pair: interactive}
}

// init is the command that makes a first config.
func (a *app) init() *cobra.Command {
	b := usualBeginning(a.interactive())
	c := a.command("init", "Make a first config: networks, tokens, the owner", `
clawhost init
TELEGRAM_TOKEN=… clawhost init -yes -network telegram -owner telegram:1001`, func(ctx context.Context, args []string) error {
		if len(args) > 0 {
			return usage("init takes no arguments")
		}
		for _, owner := range b.owners {
			if network, account, _ := strings.Cut(owner, ":"); network == "" || account == "" {
				return usage("-owner %q is not NETWORK:ACCOUNT, such as telegram:1001", owner)
			}
		}
		switch {
		case a.json:
			return usage("init prints no JSON")
		case !a.interactive() && !b.yes:
			return usage("nobody can be asked here; give what is needed as flags, with -yes")
		}
		return a.begin(ctx, b)
	})
	c.Flags().StringArrayVar(&b.networks, "network", nil, "a `network` besides the web chat, such as telegram; may be given several times. A token is read from\n"+
		"the environment, as TELEGRAM_TOKEN")
	c.Flags().StringArrayVar(&b.owners, "owner", nil, "an `account` that may do everything, such as telegram:1001; may be given several times")
	c.Flags().StringArrayVar(&b.sets, "set", nil, "an `argument` of a network's config, such as telegram.api_endpoint=http://127.0.0.1:8081")
	c.Flags().StringVar(&b.name, "name", b.name, "the agent's `name`")
	c.Flags().StringVar(&b.workspace, "workspace", b.workspace, "the `folder` in which Claude works")
	c.Flags().StringVar(&b.state, "state", "", "the `folder` of the host's state; default ~/.local/state/clawhost")
	c.Flags().StringVar(&b.claude, "claude", b.claude, "the `program` of Claude Code")
	c.Flags().BoolVar(&b.pair, "pair", b.pair, "wait until the owner sends a code to each network that has no owner yet")
	c.Flags().BoolVar(&b.overwrite, "force", false, "replace a config that is there, which is kept with the ending .bak")
	c.Flags().BoolVar(&b.yes, "yes", false, "ask nothing")
	return demo(a, c)
}

// offerInit asks whether to make a config where there is none. If not, that is the error.
func (a *app) offerInit(ctx context.Context, none error) error {
	wanted := true
	err := a.fill(ctx, huh.NewConfirm().Title("There is no config file yet. Make one now?").Value(&wanted))
	if err != nil || !wanted {
		return errors.Join(err, none)
	}
	return a.begin(ctx, usualBeginning(a.interactive()))
}

// interactive reports whether somebody can be asked.
func (a *app) interactive() bool {
	in, ok := a.in.(*os.File)
	return ok && isTerminal(in) && isTerminal(a.out)
}

// begin makes the config.
func (a *app) begin(ctx context.Context, b beginning) error {
	path, err := a.newPlace()
	if err != nil {
		return err
	}
	asks := a.interactive() && !b.yes
	if _, err := os.Stat(path); err == nil && !b.overwrite {
		return fmt.Errorf("%s is there already; `clawhost doctor` says what is wrong with it, and `clawhost init -force` replaces it", path)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	host := setup.Host{Version: version, Children: a.children}
	fmt.Fprintf(a.out, "This writes %s.\n\n", path)
	if !a.demo {
		a.lookAtClaude(ctx, b.claude)
	}
	self, err := process.Executable()
	if err != nil {
		return err
	}
	there, has, err := setup.Networks(ctx, filepath.Dir(self), host)
	if err != nil {
		return err
	}
	if len(there) == 0 {
		return fmt.Errorf("there is no plugin in %s; the archive has them beside clawhost, and `make build` makes them", filepath.Dir(self))
	}
	if asks {
		if err := a.askNetworks(ctx, there, &b); err != nil {
			return err
		}
	}
	draft := setup.Draft{
		Path: path, Name: b.name, Workspace: b.workspace, StateDir: b.state, Command: b.claude, Owners: b.owners, Memory: has(memory),
	}
	if draft.Networks, err = chosen(there, b); err != nil {
		return err
	}
	for i := range draft.Networks {
		if err := a.fillIn(ctx, draft, &draft.Networks[i], host, asks); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(draft.Networks, func(n setup.Network) bool { return n.Label == webchat }) && !slices.Contains(draft.Owners, webchatOwner) {
		draft.Owners = append([]string{webchatOwner}, draft.Owners...)
	}
	links, err := a.tryDraft(ctx, draft, host)
	if err != nil {
		return err
	}
	if b.pair {
		if err := a.pairOwners(ctx, &draft, links, host); err != nil {
			return err
		}
	}
	if err := draft.Write(); err != nil {
		return fmt.Errorf("write the config: %w", err)
	}
	fmt.Fprintf(a.out, "%s  %s is written", a.style().good("ok     "), path)
	if len(draft.Variables()) > 0 {
		fmt.Fprint(a.out, "; the tokens are in the file env beside it")
	}
	fmt.Fprintln(a.out, ".")
	if asks {
		if err := a.offerService(ctx); err != nil {
			return err
		}
	}
	return a.next(ctx, draft)
}

// offerService asks whether to install the service, where that is possible.
func (a *app) offerService(ctx context.Context) error {
	if !a.manages(ctx) {
		return nil
	}
	wanted := false
	err := a.fill(ctx, huh.NewConfirm().Title("Make it a service now, which starts with the machine?").Value(&wanted))
	if err != nil || !wanted {
		return err
	}
	return (&serviceCommand{app: a}).install(ctx, nil)
}

// newPlace is where a new config is written: where it will be found.
func (a *app) newPlace() (string, error) {
	path := a.config
	if path == "" {
		path = os.Getenv(configVariable)
	}
	if path == "" {
		path = usualPlaces()[1] // the home's
	}
	return filepath.Abs(path)
}

// lookAtClaude says how Claude Code is. What is missing can be done later.
func (a *app) lookAtClaude(ctx context.Context, command string) {
	f := doctor.Claude(ctx, config.Claude{Command: command})
	if f.Severity == doctor.Error {
		f.Severity, f.Advice = doctor.Warning, strings.TrimSpace(f.Advice+" This can be done later.")
	}
	a.finding(f)
}

// chosen returns the networks that are wanted, with what is set for them.
func chosen(there []setup.Network, b beginning) (list []setup.Network, err error) {
	names := make([]string, len(there))
	for i, n := range there {
		names[i] = n.Label
		if n.Label == webchat || slices.Contains(b.networks, n.Label) {
			list = append(list, n)
		}
	}
	for _, name := range b.networks {
		if !slices.Contains(names, name) {
			return nil, usage("there is no plugin for the network %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	for _, set := range b.sets {
		name, value, is := strings.Cut(set, "=")
		label, argument, dotted := strings.Cut(name, ".")
		at := slices.IndexFunc(list, func(n setup.Network) bool { return n.Label == label })
		switch {
		case !is || !dotted || argument == "":
			return nil, usage("-set %q is not NETWORK.ARGUMENT=VALUE", set)
		case at < 0:
			return nil, usage("-set %q is about a network that is not chosen with -network", set)
		}
		if err := list[at].Set(argument, value); err != nil {
			return nil, usage("-set %s: %v", name, err)
		}
	}
	return list, nil
}

// fillIn sets what a network requires: from the environment, or by asking until the network accepts it.
func (a *app) fillIn(ctx context.Context, d setup.Draft, n *setup.Network, h setup.Host, asks bool) error {
	for i := range n.Settings {
		s := &n.Settings[i]
		if s.Value != "" {
			continue
		}
		if s.Value = os.Getenv(s.Variable); s.Value != "" || s.Variable == "" {
			continue
		}
		if !asks {
			return fmt.Errorf("%s needs %s: %s; set the variable %s", n.Label, s.Name, s.Description, s.Variable)
		}
		d.Networks = []setup.Network{*n}
		if err := a.askSetting(ctx, d, n, i, h); err != nil {
			return err
		}
	}
	return nil
}

// tryDraft asks the networks, and returns the pages by which their accounts are written to, by the networks' labels.
func (a *app) tryDraft(ctx context.Context, d setup.Draft, h setup.Host) (links map[string]string, err error) {
	report, err := d.Check(ctx, h)
	if err != nil {
		return nil, err
	}
	links = map[string]string{}
	for _, account := range report.Accounts {
		links[account.Plugin] = account.Link
		a.finding(doctor.Finding{Severity: doctor.Good, Text: fmt.Sprintf("%s accepts the account, which is %s", account.Plugin, printable(account.Name))})
	}
	for _, w := range report.Warnings {
		a.finding(doctor.Finding{Severity: doctor.Warning, Text: worded(w.Summary, w.Detail)})
	}
	for _, p := range report.Problems {
		a.finding(doctor.Finding{Severity: doctor.Error, Text: worded(p.Summary, p.Detail)})
	}
	if len(report.Problems) > 0 {
		return nil, errors.New("nothing is written; correct that and run this again")
	}
	return links, nil
}

// worded is a problem without its place, which is in no file yet.
func worded(summary, detail string) string { return strings.TrimSuffix(summary+"; "+detail, "; ") }

// pairOwners waits for a code on each network that has no owner, and needs none to be linked first.
func (a *app) pairOwners(ctx context.Context, d *setup.Draft, links map[string]string, h setup.Host) error {
	for _, n := range d.Networks {
		owned := slices.ContainsFunc(d.Owners, func(o string) bool { return strings.HasPrefix(o, n.Label+":") })
		if owned || n.Login || n.Label == webchat {
			continue
		}
		code := access.NewCode()
		fmt.Fprintf(a.out, "\nMake your own account on %s the owner: write to your bot", n.Label)
		if links[n.Label] != "" {
			fmt.Fprintf(a.out, ", at %s,", printable(links[n.Label]))
		}
		fmt.Fprintf(a.out, " and send it this code:\n\n    %s\n\nCtrl-C ends this.\n", a.style().strong(code))
		waiting, cancel := context.WithTimeout(ctx, ownerWait)
		owner, err := d.AwaitOwner(waiting, n, code, h)
		cancel()
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			a.finding(doctor.Finding{Severity: doctor.Warning, Text: "nobody sent the code", Advice: "Write to the bot later: it answers with a code for `clawhost pairing approve`."})
			continue
		case err != nil:
			return fmt.Errorf("wait for the owner: %w", err)
		}
		d.Owners = append(d.Owners, owner.ID)
		a.finding(doctor.Finding{Severity: doctor.Good, Text: fmt.Sprintf("%s (%s) is the owner", printable(owner.Name), printable(owner.ID))})
	}
	return nil
}

// next says what to do now.
func (a *app) next(ctx context.Context, d setup.Draft) error {
	host := process.Quoted(os.Args[0])
	if found, err := a.place(); err != nil || a.config != "" || !sameFile(found, d.Path) { // such as one in this folder, which goes first
		host += " -config " + process.Quoted(d.Path)
	}
	host = "  " + host
	steps := [][]string{{host, "run it here, until Ctrl-C"}}
	if a.manages(ctx) {
		steps = append(steps, []string{host + " service install", "run it always, as a service"})
	}
	steps = append(steps, []string{host + " open", "open the web chat"})
	for _, n := range d.Networks {
		if n.Login {
			steps = append(steps, []string{host + " plugin login " + n.Label, "link the account, once it runs"})
		}
	}
	fmt.Fprintln(a.out, "\nNext:")
	return a.printRows(steps)
}

// manages reports whether systemd can run the service that is meant.
func (a *app) manages(ctx context.Context) bool {
	of, err := (&serviceCommand{app: a}).meant()
	if err == nil {
		_, err = of.State(ctx)
	}
	return err == nil
}
