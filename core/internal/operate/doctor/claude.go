package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
)

// login is what decides whether a CLI can be used.
type login struct {
	command, folder string
	keys            bool // of the config
}

// findClaude examines the CLI of each agent, each once.
func findClaude(ctx context.Context, o Options) (list []Finding) {
	seen := map[login]bool{}
	for _, a := range o.Config.AllAgents() {
		l := login{a.Claude.Command, a.Claude.ConfigDir, len(a.Claude.APIKeys) > 0}
		if seen[l] {
			continue
		}
		seen[l] = true
		if f := Claude(ctx, a.Claude); f.Code != codeMissing { // the check of the config says that
			list = append(list, f)
		}
	}
	return once(list)
}

// codeMissing is the code of the finding that there is no CLI.
const codeMissing = "claude_missing"

// Claude examines a CLI.
func Claude(ctx context.Context, c config.Claude) Finding {
	found, err := cli.Inspect(ctx, cli.Options{Command: c.Command, Env: c.Env})
	_, missing := errors.AsType[*cli.NotInstalledError](err)
	broken, isBroken := errors.AsType[*cli.BrokenError](err)
	switch {
	case missing:
		return fault(codeMissing, err.Error(), "")
	case isBroken && broken.Placeholder:
		return fault("claude_broken", err.Error(), "") // which says what to do
	case err != nil:
		return fault("claude_broken", err.Error(), installAdvice)
	case found.TooOld():
		return fault("claude_old", fmt.Sprintf("%s is Claude Code %s; this host needs %s or newer", found.Path, found.Version, cli.Oldest), installAdvice)
	case len(c.APIKeys) > 0:
		return good("claude", "Claude Code %s, with the keys of the config", found.Version)
	case found.Login == cli.LoggedOut:
		return fault("claude_login", fmt.Sprintf("Claude Code %s is not logged in", found.Version), loginAdvice(c.Env["CLAUDE_CONFIG_DIR"]))
	}
	return good("claude", "%s", found)
}

const installAdvice = "`npm install -g @anthropic-ai/claude-code` installs the newest. If Claude Code is elsewhere, name it by claude.command in the config."

// loginAdvice says how to log in with a folder of the CLI's own; empty: the usual one.
func loginAdvice(folder string) string {
	command := "claude auth login"
	if folder != "" {
		command = "CLAUDE_CONFIG_DIR=" + process.Quoted(folder) + " " + command
	}
	advice := "Log in with `" + command + "`"
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

// findAPIs asks the API of each agent's model whether it can be reached, and what time it is. It sends no key. Another provider's API is
// not asked: only the CLI knows its address.
func findAPIs(ctx context.Context, o Options) (list []Finding) {
	for _, a := range o.Config.AllAgents() {
		if !cli.OtherProvider(a.Claude.Env) {
			list = append(list, findAPI(ctx, a.Claude)...)
		}
	}
	return once(list)
}

func findAPI(ctx context.Context, c config.Claude) []Finding {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, cmp.Or(c.Env["ANTHROPIC_BASE_URL"], usualAPI), http.NoBody)
	if err != nil || request.URL.Host == "" { // the address may have a secret
		return []Finding{fault("api", "ANTHROPIC_BASE_URL in claude.env is no address of a server", "Write one such as "+usualAPI+", or remove it.")}
	}
	transport := &http.Transport{Proxy: proxyOf(c)}
	defer transport.CloseIdleConnections()
	began := time.Now()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return []Finding{warning("api", fmt.Sprintf("the model's API at %s cannot be reached, so Claude answers only if it is set up to use another one: %v", request.URL.Host, err),
			"Check the machine's network and DNS: `curl -I https://"+request.URL.Host+"`. Behind a proxy, write HTTPS_PROXY into claude.env.")}
	}
	_ = response.Body.Close()
	reached := good("api", "the model's API at %s can be reached", request.URL.Host)
	theirs, err := http.ParseTime(response.Header.Get("Date"))
	if err != nil {
		return []Finding{reached}
	}
	ours := began.Add(time.Since(began) / 2)
	skew := ours.Sub(theirs).Round(time.Minute)
	switch {
	case skew >= maxSkew:
		return []Finding{reached, wrongClock(skew, "ahead")}
	case skew <= -maxSkew:
		return []Finding{reached, wrongClock(-skew, "behind")}
	}
	return []Finding{reached, good("clock", "the machine's clock is right")}
}

func wrongClock(by time.Duration, direction string) Finding {
	return fault("clock", fmt.Sprintf("the machine's clock is %s %s", strings.TrimSuffix(by.String(), "0s"), direction),
		"Set it by the network: `timedatectl set-ntp true`.")
}

// proxyOf returns the proxy of requests to the model's API. With keys of the config the host makes them, else the CLI, which gets no
// variables of the host's environment for that.
func proxyOf(c config.Claude) func(*http.Request) (*url.URL, error) {
	if len(c.APIKeys) > 0 {
		return http.ProxyFromEnvironment
	}
	either := func(name string) string { return cmp.Or(c.Env[strings.ToLower(name)], c.Env[name]) }
	proxy := (&httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return proxy(r.URL) }
}

// once returns the findings without repetitions.
func once(list []Finding) (kept []Finding) {
	for _, f := range list {
		if !slices.ContainsFunc(kept, func(k Finding) bool { return k.Text == f.Text && k.Advice == f.Advice }) {
			kept = append(kept, f)
		}
	}
	return kept
}
