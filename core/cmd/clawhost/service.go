package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/operate/service"
)

// serviceCommand is one run of a command about the service.
type serviceCommand struct {
	*app
	system, perUser    bool
	dryRun, yes, force bool
}

// service is the command that makes the host a service of systemd, and looks after it.
func (a *app) service() *cobra.Command {
	s := &serviceCommand{app: a}
	lines, follow := 100, false
	install := a.command("install", "Make the host a service that starts with the machine, or upgrade it", `
sudo clawhost service install
clawhost service install -user -dry-run`, s.install)
	uninstall := a.command("uninstall", "Stop and remove the service, and keep the config and all that was said", "sudo clawhost service uninstall", s.uninstall)
	logs := a.command("logs", "Print the newest lines of the service's log", "clawhost service logs -f\nclawhost service logs -n 1000",
		func(ctx context.Context, args []string) error {
			if len(args) > 0 || lines < 0 {
				return usage("service logs takes no arguments, and -n a number from 0 on")
			}
			return s.logs(ctx, lines, follow)
		})
	logs.Flags().IntVarP(&lines, "lines", "n", lines, "the `number` of lines")
	logs.Flags().BoolVarP(&follow, "follow", "f", false, "go on with further lines")
	for _, c := range []*cobra.Command{install, uninstall} {
		c.Flags().BoolVar(&s.dryRun, "dry-run", false, "print what would be done, and do nothing")
		c.Flags().BoolVar(&s.yes, "yes", false, "do not ask before it is done")
	}
	install.Flags().BoolVar(&s.force, "force", false, "replace a unit that was edited")
	noun := a.noun("service", "Make the host a service of systemd, and look after it", "sudo clawhost service install\nclawhost service status",
		s.status, install, a.command("status", "Show how the service is, and then the host", "clawhost service status", s.status), logs, uninstall)
	noun.PersistentFlags().BoolVar(&s.system, "system", false, "a service of the system, as for root without a flag")
	noun.PersistentFlags().BoolVar(&s.perUser, "user", false, "a service of this user, as for others without a flag")
	return noun
}

// meant returns the service that the flags mean, or without them the system's for root and the user's own for others.
func (s *serviceCommand) meant() (*service.Service, error) {
	if s.system && s.perUser {
		return nil, usage("a service is -system or -user, not both")
	}
	return s.of(s.perUser || !s.system && os.Geteuid() != 0)
}

// installed returns the service that is meant, or the system's if only that is installed and no flag says which is meant.
func (s *serviceCommand) installed() (*service.Service, error) {
	meant, err := s.meant()
	if err != nil || s.perUser || !meant.PerUser || meant.Installed() {
		return meant, err
	}
	if system, err := s.of(false); err == nil && system.Installed() {
		return system, nil
	}
	return meant, nil
}

// of returns the service of the user or of the system.
func (s *serviceCommand) of(perUser bool) (*service.Service, error) {
	program, err := process.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	folder, err := os.UserConfigDir()
	if err != nil && perUser {
		return nil, fmt.Errorf("find the folder of this user's units: %w", err)
	}
	return service.New(service.Options{
		PerUser: perUser, Program: program, Named: s.config != "" || os.Getenv(configVariable) != "",
		Path: os.Getenv("PATH"), UnitFolder: filepath.Join(folder, "systemd", "user"),
	}), nil
}

// mayChange returns an error if this user cannot change the service. A dry run changes nothing.
func (s *serviceCommand) mayChange(of *service.Service, verb string) error {
	if of.PerUser || s.dryRun || os.Geteuid() == 0 {
		return nil
	}
	return fmt.Errorf("a service of the system is root's: `%s`", service.Line("sudo", of.Program, "service", verb))
}

func (s *serviceCommand) install(ctx context.Context, args []string) error {
	if len(args) > 0 || s.json {
		return usage("service install takes no arguments, and has no JSON")
	}
	of, err := s.meant()
	if err != nil {
		return err
	}
	if err := s.mayChange(of, "install"); err != nil {
		return err
	}
	if _, err := of.State(ctx); err != nil {
		return err
	}
	if of.Config, err = s.configFor(of); err != nil {
		return err
	}
	if err := s.fits(of); err != nil {
		return err
	}
	plan, err := of.Install(ctx, s.force)
	if err != nil {
		return err
	}
	what := "the system"
	if of.PerUser {
		what = "this user"
	}
	done, err := s.do(ctx, of, plan, "To make clawhost a service of "+what)
	var failed *service.CommandError
	switch {
	case errors.As(err, &failed):
		s.showFailure(ctx, of)
		return err
	case err != nil || !done:
		return err
	}
	return s.next(ctx, of)
}

// configFor is the config file of a service: the named one, else that which it has, else the one that is found.
func (s *serviceCommand) configFor(of *service.Service) (string, error) {
	if has := of.ConfigPath(); has != "" && !of.Named {
		if _, err := os.Stat(has); !errors.Is(err, fs.ErrNotExist) {
			return has, nil
		}
	}
	path, err := s.place()
	if err != nil {
		return "", err
	}
	if path, err = filepath.Abs(path); err != nil {
		return "", fmt.Errorf("find the config file: %w", err)
	}
	return path, nil
}

// shownLines is how many lines of the log are shown if the service does not start.
const shownLines = 10

// showFailure shows what the host said last, if the service has failed.
func (s *serviceCommand) showFailure(ctx context.Context, of *service.Service) {
	if state, err := of.State(ctx); err != nil || state.Failure == "" {
		return
	}
	heading := "The service does not start. The newest lines of its log:\n"
	_ = of.Log(ctx, shownLines, false, func(line string) {
		fmt.Fprintln(s.err, heading+"  "+printable(line))
		heading = ""
	})
}

// next says how the service is, and what is left to do.
func (s *serviceCommand) next(ctx context.Context, of *service.Service) error {
	state, err := of.State(ctx)
	if err != nil {
		return err
	}
	if !state.Running {
		fmt.Fprintf(s.out, "The service is %s.\n", state.Doing)
		return nil
	}
	fmt.Fprintf(s.out, "The service is running: %s.\nIts log: %s service logs -f\n", printable(state.Says), printable(service.Line(of.InstalledProgram())))
	as, home := fmt.Sprintf("sudo -u %s -H ", service.User), service.Home
	if of.PerUser {
		as, home = "", os.Getenv("HOME")
	}
	if _, err := os.Stat(filepath.Join(home, ".claude", ".credentials.json")); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(s.out, "Log in to Claude, unless the config has keys: %sclaude auth login\n", strings.Replace(as, "sudo", "cd / && sudo", 1))
	}
	if of.PerUser && !of.Lingers(ctx, strconv.Itoa(os.Getuid())) {
		fmt.Fprintln(s.out, "It runs only while you are logged in; to let it run always: loginctl enable-linger")
	}
	fmt.Fprintf(s.out, "Talk to it: %s%s\n", as, printable(service.Line(of.InstalledProgram(), "-config", of.ConfigPath(), "open")))
	return nil
}

// fits returns what keeps a host from starting with the config in a service, before the service is there. The variables of this terminal
// are not the service's.
func (s *serviceCommand) fits(of *service.Service) error {
	if of.Installed() {
		return nil
	}
	path := of.ConfigToBe()
	c, err := config.Load(path, config.Variables(path, func(name string) (string, bool) {
		switch name {
		case "HOME", "PATH", "USER", "LOGNAME", "SHELL":
			return os.LookupEnv(name)
		}
		return "", false
	}))
	if err != nil {
		return err
	}
	for _, agent := range c.AllAgents() {
		if command := agent.Claude.Command; !of.Finds(command) {
			return fmt.Errorf("the service would not find %s on its PATH, %s; for Claude Code, `sudo npm install -g @anthropic-ai/claude-code` puts it there",
				command, of.SearchPath())
		}
	}
	return nil
}

func (s *serviceCommand) uninstall(ctx context.Context, args []string) error {
	if len(args) > 0 || s.json {
		return usage("service uninstall takes no arguments, and has no JSON")
	}
	of, err := s.installed()
	if err != nil {
		return err
	}
	if err := s.mayChange(of, "uninstall"); err != nil {
		return err
	}
	configPath := of.ConfigPath()
	plan, err := of.Uninstall(ctx)
	if err != nil {
		return err
	}
	if done, err := s.do(ctx, of, plan, "To remove the service"); err != nil || !done {
		return err
	}
	if of.PerUser {
		if configPath != "" {
			fmt.Fprintf(s.out, "Kept: the config %s, and the state of the host, in its state_dir.\n", printable(configPath))
		}
		return nil
	}
	fmt.Fprintf(s.out, `Kept: the config and the tokens in %s, the user %s, and all that was said and Claude's login in %s.
To delete them, too: sudo rm -r %s && sudo userdel --remove %s
`, filepath.Dir(service.Config), service.User, service.Home, filepath.Dir(service.Config), service.User)
	return nil
}

// do shows a plan and does it, unless this is a dry run or a person declines. It reports whether the service is as planned.
func (s *serviceCommand) do(ctx context.Context, of *service.Service, plan *service.Plan, what string) (done bool, err error) {
	for _, note := range plan.Notes {
		fmt.Fprintln(s.out, "Note:", visible(note))
	}
	if len(plan.Steps) == 0 {
		fmt.Fprintln(s.out, "Nothing is to be done.")
		return !s.dryRun, nil
	}
	fmt.Fprintf(s.out, "%s:\n", what)
	for _, step := range plan.Steps {
		fmt.Fprintln(s.out, indentedBy("  ", visible(step.String())))
		if text := service.Text(step); text != "" && s.dryRun {
			fmt.Fprintln(s.out, indentedBy("      ", visible(strings.TrimSuffix(text, "\n"))))
		}
	}
	if s.dryRun {
		return false, nil
	}
	if err := s.agreed(ctx, s.yes, "Do this?"); err != nil {
		return false, err
	}
	return true, of.Do(ctx, plan)
}

// indentedBy indents the lines of a text that are not empty.
func indentedBy(blanks, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(blanks+line, " ")
	}
	return strings.Join(lines, "\n")
}
