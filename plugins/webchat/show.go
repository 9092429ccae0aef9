package main

import (
	"time"

	"github.com/clawhost/clawhost/sdk/chat"
)

// message is a record as sent to the page.
type message struct {
	Seq          int64          `json:"seq"`
	Rev          int64          `json:"rev"`
	ID           chat.MessageID `json:"id"`
	Conversation chat.ThreadID  `json:"conversation"`
	From         author         `json:"from"`
	At           time.Time      `json:"at"`
	Text         string         `json:"text,omitempty"` // as it was written; the agent's is Markdown
	HTML         string         `json:"html,omitempty"` // of the agent's text, safe to insert
	Files        []file         `json:"files,omitempty"`
	Agent        string         `json:"agent,omitempty"` // the label of the one that wrote it; empty: there is only one, or none did
	ReplyTo      chat.MessageID `json:"reply_to,omitempty"`
	Buttons      [][]button     `json:"buttons,omitempty"`
	Silent       bool           `json:"silent,omitempty"`
	Reaction     string         `json:"reaction,omitempty"`
	State        state          `json:"state,omitempty"`
	Edited       bool           `json:"edited,omitempty"`
	Deleted      bool           `json:"deleted,omitempty"`
}

type button struct {
	Label string `json:"label"`
	Data  string `json:"data"`
}

func (a *api) show(r record) message {
	m := message{
		Seq: r.Seq, Rev: r.Rev, ID: r.ID, Conversation: r.Thread, From: r.From, At: r.At, Files: r.Files, Agent: r.Agent,
		ReplyTo: r.ReplyTo, Silent: r.Silent, Reaction: r.Reaction, State: r.State, Edited: r.Edited, Deleted: r.Deleted,
	}
	for _, row := range r.Buttons {
		var shown []button
		for _, b := range row {
			shown = append(shown, button(b))
		}
		m.Buttons = append(m.Buttons, shown)
	}
	if r.Deleted {
		return m
	}
	m.Text = r.Text
	if r.From == agent && r.Text != "" {
		m.HTML = a.render(r.Text)
	}
	return m
}
