package domain

import "github.com/clawhost/clawhost/sdk/chat"

// Entry is an entry of a session's history, as exports have it.
type Entry struct {
	chat.TranscriptEntry
	Made *Made `json:",omitempty"` // of an answer; nil: no answer, or one of an older version
}

// Made is how an answer was made.
type Made struct {
	Model      string `json:"model,omitempty"`
	StopReason string `json:"stop_reason,omitempty"` // of the model's last message, such as end_turn; empty: unknown
	Usage      *Spent `json:"usage,omitempty"`       // of the whole turn; nil: unknown
}

// Spent is what a turn used.
type Spent struct {
	InputTokens  int64   `json:"input_tokens"` // without cached ones
	CacheTokens  int64   `json:"cache_tokens"` // read and created
	OutputTokens int64   `json:"output_tokens"`
	CostUSD      float64 `json:"cost_usd,omitempty"` // by Claude Code's own count; zero: unknown
}

// Made returns how the answer of the turn was made; nil: nothing is known.
func (f *TurnFigures) Made() *Made {
	if f == nil || f.Model == "" && f.StopReason == "" && f.Usage.OutputTokens == 0 {
		return nil
	}
	m := &Made{Model: f.Model, StopReason: f.StopReason}
	if u := f.Usage; u.InputTokens+u.CacheTokens+u.OutputTokens > 0 {
		m.Usage = &Spent{
			InputTokens: u.InputTokens, CacheTokens: u.CacheTokens, OutputTokens: u.OutputTokens,
			CostUSD: float64(u.CostMicros) / 1e6,
		}
	}
	return m
}

// Exported is the entry's line in an export.
func (e Entry) Exported() map[string]any {
	message := map[string]any{"role": e.Role.String(), "content": []map[string]string{{"type": "text", "text": e.Text}}}
	if m := e.Made; m != nil {
		if m.Model != "" {
			message["model"] = m.Model
		}
		if m.StopReason != "" {
			message["stop_reason"] = m.StopReason
		}
		if m.Usage != nil {
			message["usage"] = m.Usage
		}
	}
	return map[string]any{"type": "message", "id": e.ID, "at": e.At.UTC(), "message": message}
}
