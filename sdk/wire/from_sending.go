package wire

import (
	"errors"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// OutgoingFromProto converts a message to send.
func OutgoingFromProto(p *pluginv1.SendMessageRequest) (chat.Outgoing, error) {
	to, errTo := AddressFromProto(p.GetAddress())
	content, errText := text("text", p.GetText())
	media, errMedia := mediaFrom("media", p.GetMedia())
	buttons, errButtons := ButtonsFromProto(p.GetButtons())
	poll, errPoll := pollFrom(p.GetPoll())
	if err := first(
		requiredID("idempotency_key", p.GetIdempotencyKey()), errTo, errText, errMedia,
		id("reply_to_id", p.GetReplyToId()), errButtons, errPoll, agent("agent", p.GetAgent()),
	); err != nil {
		return chat.Outgoing{}, err
	}
	return chat.Outgoing{
		Key: p.GetIdempotencyKey(), To: to, Text: content, Media: media,
		ReplyTo: chat.MessageID(p.GetReplyToId()), Buttons: buttons, Silent: p.GetSilent(), Poll: poll,
		Agent: p.GetAgent(),
	}, nil
}

func pollFrom(p *pluginv1.Poll) (*chat.Poll, error) {
	if p == nil {
		return nil, nil
	}
	for _, value := range append([]string{p.GetQuestion()}, p.GetOptions()...) {
		if len(value) == 0 || len(value) > MaxPollText {
			return nil, field("poll", "a text has %d bytes, 1 to %d are allowed", len(value), MaxPollText)
		}
	}
	return &chat.Poll{
		Question: Repair(p.GetQuestion()), Options: each(p.GetOptions(), Repair), Multiple: p.GetMultiple(), Anonymous: p.GetAnonymous(),
	}, count("poll.options", len(p.GetOptions()), MaxOptions)
}

// ButtonsFromProto converts rows of buttons.
func ButtonsFromProto(rows []*pluginv1.ButtonRow) ([][]chat.Button, error) {
	var out [][]chat.Button
	total := 0
	for _, r := range rows {
		// An empty row counts as one button, so that the number of rows is limited too.
		total += max(1, len(r.GetButtons()))
		if err := count("buttons", total, MaxButtons); err != nil {
			return nil, err
		}
		var row []chat.Button
		for _, b := range r.GetButtons() {
			if len(b.GetData()) > MaxData {
				return nil, field("buttons.data", "longer than %d bytes", MaxData)
			}
			row = append(row, chat.Button{Label: Cut(b.GetLabel(), MaxName), Data: Repair(b.GetData())})
		}
		out = append(out, row)
	}
	return out, nil
}

// ReceiptFromProto converts a receipt.
func ReceiptFromProto(p *pluginv1.Sent) (chat.Receipt, error) {
	if err := count("message_ids", len(p.GetMessageIds()), MaxIDs); err != nil {
		return chat.Receipt{}, err
	}
	var r chat.Receipt
	for _, m := range p.GetMessageIds() {
		if err := requiredID("message_ids", m); err != nil {
			return chat.Receipt{}, err
		}
		r.IDs = append(r.IDs, chat.MessageID(m))
	}
	return r, nil
}

// FailureFromProto converts a failure; nil stays nil. An unknown reason becomes [chat.Temporary], and a message that is not
// reported as undelivered may have been delivered.
func FailureFromProto(p *pluginv1.Failure) error {
	if p == nil {
		return nil
	}
	f := &chat.Failure{
		Reason:         chat.Temporary,
		MaybeDelivered: p.GetDelivery() != pluginv1.Delivery_DELIVERY_NOT_DELIVERED,
		RetryAfter:     durationFrom(p.GetRetryAfter()),
	}
	if reason, ok := reasons.from(p.GetReason()); ok {
		f.Reason = reason
	}
	if p.GetMessage() != "" {
		f.Err = errors.New(Cut(p.GetMessage(), MaxDetail))
	}
	return f
}

// LimitsFromProto converts a channel's limits in one kind of chat. Unknown values become the most restrictive ones: plain
// text, no draft, and bytes as the unit, which gives the greatest length.
func LimitsFromProto(p *pluginv1.GetCapabilitiesResponse) (chat.Limits, error) {
	if err := first(
		count("media_in", len(p.GetMediaIn()), MaxLimits), count("media_out", len(p.GetMediaOut()), MaxLimits),
	); err != nil {
		return chat.Limits{}, err
	}
	l := chat.Limits{
		Text:      textLimitFrom(p.GetText()),
		Markup:    chat.Plain,
		TypingTTL: durationFrom(p.GetTypingTtl()),
		Draft:     chat.NoDraft,
		Edit: chat.EditLimits{
			Window: durationFrom(p.GetEdit().GetWindow()), MinInterval: durationFrom(p.GetEdit().GetMinInterval()),
		},
		Buttons: chat.ButtonLimits{
			Rows:      signed(p.GetButtons().GetRows()),
			Columns:   signed(p.GetButtons().GetColumns()),
			DataBytes: signed(p.GetButtons().GetDataBytes()),
		},
		Polls: chat.PollLimits{
			Options:   min(signed(p.GetPolls().GetOptions()), MaxOptions),
			Question:  textLimitFrom(p.GetPolls().GetQuestion()),
			Option:    textLimitFrom(p.GetPolls().GetOption()),
			Anonymous: p.GetPolls().GetAnonymous(),
		},
		Replies:        p.GetReplies(),
		MediaIn:        each(p.GetMediaIn(), mediaLimitFrom),
		MediaOut:       each(p.GetMediaOut(), mediaLimitFrom),
		IdempotentSend: p.GetIdempotentSend(),
	}
	if markup, ok := markups.from(p.GetMarkup()); ok {
		l.Markup = markup
	}
	if draft, ok := drafts.from(p.GetDraft()); ok {
		l.Draft = draft
	}
	return l, nil
}

func textLimitFrom(p *pluginv1.TextLimit) chat.TextLimit {
	if p.GetMax() == 0 {
		return chat.TextLimit{}
	}
	unit, ok := units.from(p.GetUnit())
	if !ok {
		unit = chat.Bytes
	}
	return chat.TextLimit{Max: signed(p.GetMax()), Unit: unit}
}

func mediaLimitFrom(p *pluginv1.MediaLimit) chat.MediaLimit {
	return chat.MediaLimit{Kind: mediaKindFrom(p.GetKind()), MaxBytes: max(0, p.GetMaxBytes())}
}

// StateFromProto converts a connection's state.
func StateFromProto(p pluginv1.ChannelState) (chat.State, error) {
	state, ok := states.from(p)
	if !ok {
		return 0, field("state", "%d is not known", p)
	}
	return state, nil
}
