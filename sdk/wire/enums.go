package wire

import (
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/pluginv1"
)

// table maps the values of an enumeration of package chat to those of the protocol.
type table[C, P comparable] map[C]P

// from returns the value of package chat, or the zero value and false for a value that this version does not know.
func (t table[C, P]) from(p P) (C, bool) {
	for c, q := range t {
		if q == p {
			return c, true
		}
	}
	var zero C
	return zero, false
}

var (
	kinds = table[chat.Kind, pluginv1.ChatKind]{
		chat.Direct:    pluginv1.ChatKind_CHAT_KIND_DIRECT,
		chat.Group:     pluginv1.ChatKind_CHAT_KIND_GROUP,
		chat.Broadcast: pluginv1.ChatKind_CHAT_KIND_CHANNEL,
	}
	authorities = table[chat.Authority, pluginv1.Authority]{
		chat.Other:      pluginv1.Authority_AUTHORITY_OTHER,
		chat.Authorised: pluginv1.Authority_AUTHORITY_AUTHORISED,
		chat.Owner:      pluginv1.Authority_AUTHORITY_OWNER,
	}
	mediaKinds = table[chat.MediaKind, pluginv1.MediaKind]{
		chat.File:    pluginv1.MediaKind_MEDIA_KIND_FILE,
		chat.Image:   pluginv1.MediaKind_MEDIA_KIND_IMAGE,
		chat.Audio:   pluginv1.MediaKind_MEDIA_KIND_AUDIO,
		chat.Voice:   pluginv1.MediaKind_MEDIA_KIND_VOICE,
		chat.Video:   pluginv1.MediaKind_MEDIA_KIND_VIDEO,
		chat.Sticker: pluginv1.MediaKind_MEDIA_KIND_STICKER,
	}
	roles = table[chat.Role, pluginv1.Role]{
		chat.User:      pluginv1.Role_ROLE_USER,
		chat.Assistant: pluginv1.Role_ROLE_ASSISTANT,
		chat.System:    pluginv1.Role_ROLE_SYSTEM,
	}
	verdicts = table[chat.Verdict, pluginv1.Verdict]{
		chat.Accepted:  pluginv1.Verdict_VERDICT_ACCEPTED,
		chat.Duplicate: pluginv1.Verdict_VERDICT_DUPLICATE,
		chat.Rejected:  pluginv1.Verdict_VERDICT_REJECTED,
	}
	states = table[chat.State, pluginv1.ChannelState]{
		chat.Connecting:     pluginv1.ChannelState_CHANNEL_STATE_CONNECTING,
		chat.Connected:      pluginv1.ChannelState_CHANNEL_STATE_CONNECTED,
		chat.Disconnected:   pluginv1.ChannelState_CHANNEL_STATE_TRANSIENT_DISCONNECT,
		chat.BadCredentials: pluginv1.ChannelState_CHANNEL_STATE_BAD_CREDENTIALS,
		chat.LoggedOut:      pluginv1.ChannelState_CHANNEL_STATE_LOGGED_OUT,
	}
	reasons = table[chat.Reason, pluginv1.Reason]{
		chat.Temporary:     pluginv1.Reason_REASON_TEMPORARY,
		chat.RateLimited:   pluginv1.Reason_REASON_RATE_LIMITED,
		chat.NotConnected:  pluginv1.Reason_REASON_NOT_CONNECTED,
		chat.ChatNotFound:  pluginv1.Reason_REASON_CHAT_NOT_FOUND,
		chat.Forbidden:     pluginv1.Reason_REASON_FORBIDDEN,
		chat.TooLong:       pluginv1.Reason_REASON_TOO_LONG,
		chat.MediaRejected: pluginv1.Reason_REASON_MEDIA_REJECTED,
		chat.TargetGone:    pluginv1.Reason_REASON_TARGET_GONE,
		chat.Invalid:       pluginv1.Reason_REASON_INVALID,
	}
	units = table[chat.Unit, pluginv1.TextLimit_Unit]{
		chat.Bytes: pluginv1.TextLimit_UNIT_BYTES,
		chat.Runes: pluginv1.TextLimit_UNIT_RUNES,
		chat.UTF16: pluginv1.TextLimit_UNIT_UTF16,
	}
	markups = table[chat.Markup, pluginv1.Markup]{
		chat.Plain:    pluginv1.Markup_MARKUP_PLAIN,
		chat.Markdown: pluginv1.Markup_MARKUP_MARKDOWN,
	}
	drafts = table[chat.Draft, pluginv1.DraftKind]{
		chat.NoDraft:     pluginv1.DraftKind_DRAFT_KIND_NONE,
		chat.NativeDraft: pluginv1.DraftKind_DRAFT_KIND_NATIVE,
		chat.DraftByEdit: pluginv1.DraftKind_DRAFT_KIND_BY_EDIT,
	}
)
