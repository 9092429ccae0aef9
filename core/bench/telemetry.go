package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"
)

// scrapeInterval is how often Prometheus reads metrics unless told otherwise by its scrape_interval in docs/observability.md.
const scrapeInterval = 15 * time.Second

// telemetry measures what metrics and traces take of the host's processor time. Hosts without them, with metrics, and with
// metrics and traces run side by side and get the same messages in turns, so that the machine's noise meets all of them.
func (b *bench) telemetry(ctx context.Context) error {
	const warmup, rounds, messages, scrapes = 200, 15, 300, 20
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	blocks := []string{
		"",
		"metrics = true",
		fmt.Sprintf("metrics = true\n  traces = %q", collector.URL),
		fmt.Sprintf("metrics = true\n  traces = %q\n  sample = 1", collector.URL),
	}
	return b.beside(ctx, blocks, func(hosts []*partner) error {
		for _, h := range hosts {
			if _, err := h.exchange(warmup); err != nil {
				return err
			}
		}
		took := make([][]time.Duration, len(hosts))
		shares := make([][]float64, len(hosts))
		for range rounds {
			for i, h := range hosts {
				spent, err := h.exchange(messages)
				if err != nil {
					return err
				}
				took[i] = append(took[i], spent)
				shares[i] = append(shares[i], float64(spent)/float64(took[0][len(took[0])-1])-1)
			}
		}
		scrape, err := scraping(ctx, hosts[1].host, scrapes)
		if err != nil {
			return err
		}
		line("measured", fmt.Sprintf("%d × %d messages to each host in turns", rounds, messages))
		line("the host's time a message: without", millis(median(took[0])))
		metrics := median(shares[1])
		judged("… with metrics", fmt.Sprintf("%s, %+.1f %%", millis(median(took[1])), 100*metrics), "≤ +3 %", metrics <= 0.03)
		line("… with metrics and traces of a tenth", fmt.Sprintf("%s, %+.1f %%", millis(median(took[2])), 100*median(shares[2])))
		line("… with metrics and traces of all", fmt.Sprintf("%s, %+.1f %%", millis(median(took[3])), 100*median(shares[3])))
		line("the host's time a scrape", fmt.Sprintf("%s, %.2f %% of a core every %s", millis(scrape), 100*float64(scrape)/float64(scrapeInterval), scrapeInterval))
		return nil
	})
}

// partner is a host and a chat with it.
type partner struct {
	host   *host
	chat   *client
	number int // of the last message
}

// exchange sends messages one at a time, and returns the host's processor time for each.
func (p *partner) exchange(messages int) (time.Duration, error) {
	before, err := cpu(p.host.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	if _, err := exchange(p.chat, &p.number, messages); err != nil {
		return 0, err
	}
	after, err := cpu(p.host.cmd.Process.Pid)
	return (after - before) / time.Duration(messages), err
}

// beside runs a host for each block of telemetry at the same time.
func (b *bench) beside(ctx context.Context, blocks []string, f func([]*partner) error, started ...*partner) error {
	if len(started) == len(blocks) {
		return f(started)
	}
	s := setup{plugins: []string{"echo"}, processes: 1, telemetry: blocks[len(started)]}
	return b.with(ctx, s, func(h *host) error {
		c, err := dial(h.rig.address, "anna")
		if err != nil {
			return err
		}
		defer c.leave()
		return b.beside(ctx, blocks, f, append(started, &partner{host: h, chat: c})...)
	})
}

// scraping is the processor time of a host for one reading of its metrics.
func scraping(ctx context.Context, h *host, times int) (time.Duration, error) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", h.rig.path("state/clawhost.sock"))
	}}}
	defer client.CloseIdleConnections()
	before, err := cpu(h.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	for range times {
		if err := scrape(ctx, client); err != nil {
			return 0, err
		}
	}
	after, err := cpu(h.cmd.Process.Pid)
	return (after - before) / time.Duration(times), err
}

func scrape(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://clawhost/metrics", nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, res.Body)
	if res.StatusCode != http.StatusOK {
		err = cmp.Or(err, fmt.Errorf("metrics: %s", res.Status))
	}
	return errors.Join(err, res.Body.Close())
}
