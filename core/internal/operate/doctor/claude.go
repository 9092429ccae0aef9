package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/user"
	"time"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// findClaude examines the CLI of each agent.
func findClaude(ctx context.Context, o Options) (list []Finding) {
	seen := map[string]bool{}
	for _, a := range o.Config.AllAgents() {
		if seen[a.Claude.Command] {
			continue
		}
		seen[a.Claude.Command] = true
		list = append(list, findCLI(ctx, a.Claude)...)
	}
	return list
}

func findCLI(ctx context.Context, c config.Claude) []Finding {
	found, err := cli.Inspect(ctx, cli.Options{Command: c.Command, Env: c.Env})
	var broken *cli.BrokenError
	var missing *cli.NotInstalledError
	switch {
	case errors.As(err, &missing):
		return nil // the check of the config says it
	case errors.As(err, &broken):
		return []Finding{fault("claude_broken", broken.Error(), "")}
	case err != nil:
		return []Finding{fault("claude_broken", err.Error(), "")}
	case found.TooOld():
		return []Finding{fault("claude_old", fmt.Sprintf("%s is Claude Code %s; this host needs %s or newer", found.Path, found.Version, cli.Oldest),
			"`npm install -g @anthropic-ai/claude-code` installs the newest.")}
	case len(c.APIKeys) > 0:
		return []Finding{good("claude", "Claude Code %s, with the keys of the config", found.Version)}
	case found.Login == cli.LoggedOut:
		return []Finding{fault("claude_login", fmt.Sprintf("Claude Code %s is not logged in", found.Version), LoginAdvice())}
	}
	return []Finding{good("claude", "%s", found)}
}

// LoginAdvice says how to log in as the user of this process.
func LoginAdvice() string {
	advice := "Log in with `claude auth login`"
	if u, err := user.Current(); err == nil {
		advice += ", as the user " + u.Username
	}
	return advice + ", or set claude.api_keys in the config."
}

const (
	// maxSkew is how wrong the clock may be before logins and tokens fail.
	maxSkew = 2 * time.Minute
	// apiTimeout limits the question to the model's API.
	apiTimeout = 15 * time.Second
	// usualAPI is the address of the model's API.
	usualAPI = "https://api.anthropic.com"
)

// findAPI asks the model's API whether it can be reached, and what time it is. It sends no key.
func findAPI(ctx context.Context, o Options) []Finding {
	address := o.Config.Agent.Claude.Env["ANTHROPIC_BASE_URL"]
	if address == "" {
		address = usualAPI
	}
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, address, http.NoBody)
	if err != nil {
		return []Finding{fault("api", fmt.Sprintf("%s is no address: %v", address, err), "")}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	began := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return []Finding{fault("api", fmt.Sprintf("the model's API cannot be reached: %v", err),
			"Check the machine's network, its DNS and a proxy: the plugins and Claude Code need them, too.")}
	}
	_ = response.Body.Close()
	list := []Finding{good("api", "%s can be reached", address)}
	theirs, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return list
	}
	ours := began.Add(time.Since(began) / 2)
	if skew := ours.Sub(theirs).Round(time.Second); skew.Abs() > maxSkew {
		direction := "ahead"
		if skew < 0 {
			direction = "behind"
		}
		return append(list, fault("clock", fmt.Sprintf("the machine's clock is %s %s", skew.Abs(), direction),
			"Set it by the network: `timedatectl set-ntp true`."))
	}
	return append(list, good("clock", "the machine's clock is right"))
}
