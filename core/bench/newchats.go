package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/clawhost/clawhost/plugins/telegram/telegramtest"
)

// newChats has 50 people write at once who have not written before, each in a chat of their own, to a claude that takes
// 200 ms: four messages each, one after the answer to the other. Each chat needs a conversation and a claude first.
func (b *bench) newChats(ctx context.Context) error {
	const people, messages, repeats = 50, 4, 3
	server, err := telegramtest.Start(telegramtest.Options{})
	if err != nil {
		return err
	}
	defer server.Close()
	var rates []float64
	var first sample
	var costs []time.Duration
	err = b.with(ctx, setup{
		plugins: []string{"telegram"}, blocks: map[string]string{"telegram": telegramBlock(server)},
		processes: people * repeats, env: map[string]string{"CLAUDE_STUB_DELAY_MS": "200"},
	}, func(h *host) error {
		for round := range repeats {
			before, err := cpu(h.cmd.Process.Pid)
			if err != nil {
				return err
			}
			errs, firsts := make([]error, people), make(sample, people)
			var talks sync.WaitGroup
			began := time.Now()
			for i := range people {
				c := draft(server, 1+round*people+i)
				talks.Go(func() {
					for n := range messages {
						word := fmt.Sprintf("word%d", n)
						c.say(word)
						if errs[i] = c.answered(ctx, word); errs[i] != nil {
							return
						}
						if n == 0 {
							firsts[i] = time.Since(began)
						}
					}
				})
			}
			talks.Wait()
			took := time.Since(began)
			if err := errors.Join(errs...); err != nil {
				return err
			}
			after, err := cpu(h.cmd.Process.Pid)
			if err != nil {
				return err
			}
			rates, first = append(rates, people*messages/took.Seconds()), append(first, firsts...)
			costs = append(costs, (after-before)/(people*messages))
		}
		return nil
	})
	if err != nil {
		return err
	}
	line("50 new chats of Telegram, claude takes 200 ms", fmt.Sprintf("%.0f messages/s, host %s each; first answer p50 %s, p99 %s",
		median(rates), millis(median(costs)), millis(first.median()), millis(first.quantile(0.99))))
	return nil
}

// answered waits for an answer that contains a word.
func (s streamed) answered(ctx context.Context, word string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	bot := s.server.Bot().ID
	_, err := s.server.AwaitMessage(ctx, s.id, func(m telegramtest.Message) bool { return m.From == bot && strings.Contains(m.Text, word) })
	return err
}
