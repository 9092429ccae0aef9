package scripts_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v4"

	"github.com/clawhost/clawhost/core/internal/base/journal"
)

const (
	// adminToken is what a script's config has for admin.token.
	adminToken = "scripts-loopback-token-0123456789"
	// observability is the folder of the files for Prometheus and Grafana.
	observability = "../../docs/observability"
)

// freeAddress is an address on loopback that nothing listens at.
func freeAddress() (string, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// get returns the body of a response with the status 200.
func get(ctx context.Context, address string, headers ...string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", address, response.Status, body)
	}
	return string(body), err
}

// scrape is the command of the same name.
func (s *stage) scrape(ts *testscript.TestScript, neg bool, args []string) error {
	accept := "text/plain"
	if slices.Equal(args, []string{"-openmetrics"}) {
		accept = "application/openmetrics-text"
	} else if len(args) > 0 {
		return errors.New("usage: scrape [-openmetrics]")
	}
	body, err := get(s.ctx, "http://"+ts.Getenv("ADMIN_ADDRESS")+"/metrics", "Authorization", "Bearer "+adminToken, "Accept", accept)
	if neg == (err == nil) {
		return fmt.Errorf("scrape: %w, %s", err, body)
	}
	fmt.Fprint(ts.Stdout(), body)
	return nil
}

// watched is the command of the same name.
func (s *stage) watched(ts *testscript.TestScript, _ []string) error {
	for _, program := range []string{"prometheus", "promtool"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") == "true" {
				return err
			}
			s.t.Logf("skipped: %v", err)
			return nil
		}
	}
	body, err := get(s.ctx, "http://"+ts.Getenv("ADMIN_ADDRESS")+"/metrics", "Authorization", "Bearer "+adminToken)
	if err != nil {
		return err
	}
	if out, err := s.promtool(body, "check", "metrics"); err != nil || strings.TrimSpace(out) != "" {
		return fmt.Errorf("promtool check metrics: %w\n%s", err, out)
	}
	for from, name := range map[string]string{observability + "/clawhost.rules.yaml": "clawhost.rules.yaml", "testdata/observability/rules_test.yaml": "rules_test.yaml"} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(s.dir, name), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"check", "rules", "clawhost.rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		if out, err := s.promtool("", args...); err != nil {
			return fmt.Errorf("promtool %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	p, err := s.prometheus(ts.Getenv("ADMIN_ADDRESS"))
	if err != nil {
		return err
	}
	defer p.end()
	return p.check()
}

// promtool runs promtool in the script's folder, and returns what it writes.
func (s *stage) promtool(stdin string, args ...string) (string, error) {
	command := exec.CommandContext(s.ctx, "promtool", args...)
	command.Dir, command.Stdin = s.dir, strings.NewReader(stdin)
	out, err := command.CombinedOutput()
	return string(out), err
}

// prometheus is a running Prometheus that scrapes the host.
type prometheus struct {
	stage   *stage
	command *exec.Cmd
	address string // of its API
	log     *journal.Journal
}

// prometheus starts one as the documentation says, but that it does so each second.
func (s *stage) prometheus(target string) (*prometheus, error) {
	text, err := os.ReadFile(observability + "/prometheus.yml")
	if err != nil {
		return nil, err
	}
	config := strings.NewReplacer(
		"127.0.0.1:8765", target, "/etc/prometheus/clawhost.token", s.dir+"/token",
		"/etc/prometheus/clawhost.rules.yaml", s.dir+"/clawhost.rules.yaml", "interval: 30s", "interval: 1s",
	).Replace(string(text))
	for name, text := range map[string]string{"prometheus.yml": config, "token": adminToken} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if out, err := s.promtool("", "check", "config", "prometheus.yml"); err != nil {
		return nil, fmt.Errorf("promtool check config: %w\n%s", err, out)
	}
	p := &prometheus{stage: s, log: &journal.Journal{}}
	p.command = exec.CommandContext(s.ctx, "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--web.listen-address=127.0.0.1:0")
	p.command.Dir, p.command.Stdout, p.command.Stderr = s.dir, p.log, p.log
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	at := regexp.MustCompile(`(?s)address=(127\.0\.0\.1:[1-9]\d*)\n.*Server is ready`)
	ctx, cancel := s.await()
	defer cancel()
	if err := p.log.Await(ctx, nil, 0, at); err != nil {
		p.end()
		return nil, err
	}
	p.address = "http://" + at.FindStringSubmatch(p.log.String())[1]
	return p, nil
}

func (p *prometheus) end() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// ask asks its API.
func (p *prometheus) ask(path string, parameters url.Values, answer any) error {
	body, err := get(p.stage.ctx, p.address+path+"?"+parameters.Encode())
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(body), &struct {
		Data any `json:"data"`
	}{answer})
}

// check has every rule and every expression of the dashboard evaluated, and wants the host to have each metric that they name.
func (p *prometheus) check() error {
	exprs, err := expressions()
	if err != nil {
		return err
	}
	ctx, cancel := p.stage.await()
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		missing, err := p.missing(exprs)
		if err != nil || len(missing) == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("not in Prometheus:\n%s\nits log:\n%s", strings.Join(missing, "\n"), p.log)
		}
	}
}

// missing lists what is not as it must be, at this moment.
func (p *prometheus) missing(exprs []string) (list []string, err error) {
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.ask("/api/v1/rules", nil, &rules); err != nil {
		return nil, err
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			if r.Health != "ok" {
				list = append(list, "rule "+r.Name+" is "+r.Health+" "+r.LastError)
			}
		}
	}
	if len(rules.Groups) == 0 {
		list = append(list, "rules")
	}
	var names []string
	if err := p.ask("/api/v1/label/__name__/values", nil, &names); err != nil {
		return nil, err
	}
	for _, expr := range exprs {
		var result struct{ ResultType string }
		if err := p.ask("/api/v1/query", url.Values{"query": {expr}}, &result); err != nil {
			return nil, fmt.Errorf("%s: %w", expr, err)
		}
		for _, name := range named.FindAllString(quoted.ReplaceAllString(expr, `""`), -1) {
			if !slices.Contains(names, name) {
				list = append(list, "the metric "+name+" of "+expr)
			}
		}
	}
	return list, nil
}

var (
	quoted = regexp.MustCompile(`"[^"]*"`)
	named  = regexp.MustCompile(`\b(clawhost_\w+|process_\w+|up)\b`)
)

// expressions are those of the alerts and of the dashboard, as Grafana would send them.
func expressions() (exprs []string, err error) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Expr string `yaml:"expr"`
			} `yaml:"rules"`
		} `yaml:"groups"`
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	text, err := os.ReadFile(observability + "/clawhost.rules.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &rules)
	}
	if err != nil {
		return nil, err
	}
	text, err = os.ReadFile(observability + "/clawhost.dashboard.json")
	if err == nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(&dashboard)
	}
	if err != nil {
		return nil, err
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
		}
	}
	alerts := len(exprs)
	for _, panel := range dashboard.Panels {
		for _, t := range panel.Targets {
			exprs = append(exprs, strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(t.Expr))
		}
	}
	if alerts == 0 || len(exprs) == alerts {
		return nil, errors.New("no alerts, or no panels")
	}
	return exprs, nil
}
