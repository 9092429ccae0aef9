package remote

import "github.com/clawhost/clawhost/sdk/pluginv1"

// Capability is what a plugin can do.
type Capability string

// The capabilities. All but the first that are a channel's belong to a [Channel].
const (
	Channel            Capability = "channel"
	Edit               Capability = "edit"
	Delete             Capability = "delete"
	React              Capability = "react"
	Typing             Capability = "typing"
	Draft              Capability = "draft"
	Menu               Capability = "menu"
	Login              Capability = "login"
	FetchFile          Capability = "fetch file"
	History            Capability = "history"
	Members            Capability = "members"
	Pin                Capability = "pin"
	Commands           Capability = "commands"
	BeforeAgentStart   Capability = "before_agent_start"
	MessageReceived    Capability = "message_received"
	TranscriptAppended Capability = "transcript_appended"
	Tools              Capability = "tools"
	CheckConfig        Capability = "check config"
	CheckAccount       Capability = "check account"
	Forget             Capability = "forget"
	WakeUp             Capability = "wake up"
	CLI                Capability = "command line"
	HTTP               Capability = "http"
)

// capabilities are those that this host knows.
var capabilities = map[pluginv1.Capability]Capability{
	pluginv1.Capability_CAPABILITY_CHANNEL:                  Channel,
	pluginv1.Capability_CAPABILITY_CHANNEL_EDIT:             Edit,
	pluginv1.Capability_CAPABILITY_CHANNEL_DELETE:           Delete,
	pluginv1.Capability_CAPABILITY_CHANNEL_REACT:            React,
	pluginv1.Capability_CAPABILITY_CHANNEL_TYPING:           Typing,
	pluginv1.Capability_CAPABILITY_CHANNEL_DRAFT:            Draft,
	pluginv1.Capability_CAPABILITY_CHANNEL_COMMANDS:         Menu,
	pluginv1.Capability_CAPABILITY_CHANNEL_LOGIN:            Login,
	pluginv1.Capability_CAPABILITY_CHANNEL_FETCH:            FetchFile,
	pluginv1.Capability_CAPABILITY_CHANNEL_HISTORY:          History,
	pluginv1.Capability_CAPABILITY_CHANNEL_MEMBERS:          Members,
	pluginv1.Capability_CAPABILITY_CHANNEL_PIN:              Pin,
	pluginv1.Capability_CAPABILITY_COMMANDS:                 Commands,
	pluginv1.Capability_CAPABILITY_HOOK_BEFORE_AGENT_START:  BeforeAgentStart,
	pluginv1.Capability_CAPABILITY_HOOK_MESSAGE_RECEIVED:    MessageReceived,
	pluginv1.Capability_CAPABILITY_HOOK_TRANSCRIPT_APPENDED: TranscriptAppended,
	pluginv1.Capability_CAPABILITY_TOOLS:                    Tools,
	pluginv1.Capability_CAPABILITY_CHECK_CONFIG:             CheckConfig,
	pluginv1.Capability_CAPABILITY_CHECK_ACCOUNT:            CheckAccount,
	pluginv1.Capability_CAPABILITY_FORGET:                   Forget,
	pluginv1.Capability_CAPABILITY_WAKE_UP:                  WakeUp,
	pluginv1.Capability_CAPABILITY_CLI:                      CLI,
	pluginv1.Capability_CAPABILITY_HTTP:                     HTTP,
}
