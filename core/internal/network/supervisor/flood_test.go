package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/early"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/remote"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/core/internal/store/storetest"
	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// flood is a plugin without the sdk that brings its host as much as it can.
type flood struct {
	plugin.NetRPCUnsupportedPlugin
	pluginv1.UnimplementedPluginServer
	broker *plugin.GRPCBroker
}

func serveFlood() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: handshake.ProtocolVersion, MagicCookieKey: handshake.CookieName, MagicCookieValue: handshake.CookieValue,
		},
		Plugins: plugin.PluginSet{"clawhost": &flood{}}, GRPCServer: plugin.DefaultGRPCServer, Logger: hclog.NewNullLogger(),
	})
}

func (f *flood) GRPCServer(broker *plugin.GRPCBroker, server *grpc.Server) error {
	f.broker = broker
	pluginv1.RegisterPluginServer(server, f)
	return nil
}

func (f *flood) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	panic("a plugin has no client")
}

func (f *flood) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return &pluginv1.DescribeResponse{Name: "flood"}, nil
}

func (f *flood) Configure(_ context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	conn, err := f.broker.Dial(r.GetHostBrokerId())
	if err != nil {
		return nil, err
	}
	go run(conn)
	return &pluginv1.ConfigureResponse{}, nil
}

// encoded is a message that was encoded once, however often it is sent.
type encoded struct{}

func (encoded) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (encoded) Unmarshal(mem.BufferSlice, any) error { return nil }

func (encoded) Name() string { return "proto" }

// message encodes what is sent.
func message(m proto.Message) []byte {
	data, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return data
}

// run brings all that a plugin can bring, and says when that is over.
func run(conn *grpc.ClientConn) {
	submit := func(bytes int) func(context.Context) {
		event := message(&pluginv1.SubmitRequest{Event: &pluginv1.Event{
			EventId: "1", Chat: &pluginv1.Chat{Id: "c", Kind: pluginv1.ChatKind_CHAT_KIND_DIRECT}, Sender: &pluginv1.Sender{Id: "u"},
			HappenedAt: timestamppb.Now(), Body: &pluginv1.Event_Message{Message: &pluginv1.Message{
				Id: "1", Text: "hi", ReplyTo: &pluginv1.Quote{Id: "2", Text: strings.Repeat("x", bytes)},
			}},
		}})
		return func(ctx context.Context) {
			_ = conn.Invoke(ctx, pluginv1.Inbox_Submit_FullMethodName, event, nil, grpc.MaxCallSendMsgSize(1<<30), grpc.ForceCodecV2(encoded{}))
		}
	}
	header := message(&pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Header{Header: &pluginv1.Media{}}})
	chunk := message(&pluginv1.UploadRequest{Part: &pluginv1.UploadRequest_Chunk{Chunk: make([]byte, 1<<20)}})
	upload := func(ctx context.Context) {
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, pluginv1.MediaStore_Upload_FullMethodName, grpc.ForceCodecV2(encoded{}))
		if err != nil {
			return
		}
		for part := header; stream.SendMsg(part) == nil; part = chunk {
		}
		<-ctx.Done()
	}
	// read asks for a page and never reads it, so that the host has to keep it.
	read := func(method string, request proto.Message) func(context.Context) {
		question := message(request)
		return func(ctx context.Context) {
			stream, err := conn.NewStream(ctx, &grpc.StreamDesc{}, method, grpc.ForceCodecV2(encoded{}))
			if err != nil || stream.SendMsg(question) != nil || stream.CloseSend() != nil {
				return
			}
			<-ctx.Done()
		}
	}
	history := read(pluginv1.Sessions_ReadHistory_FullMethodName, &pluginv1.ReadHistoryRequest{
		Address: &pluginv1.Address{ChatId: "c"}, ChatKind: pluginv1.ChatKind_CHAT_KIND_DIRECT, Limit: 200,
	})
	transcripts := read(pluginv1.Sessions_ReadTranscripts_FullMethodName, &pluginv1.ReadTranscriptsRequest{})
	for _, phase := range []struct {
		calls int
		call  func(ctx context.Context)
	}{{120, submit(15 << 20)}, {300, submit(1900 << 10)}, {300, upload}, {300, history}, {300, transcripts}} {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		var calls sync.WaitGroup
		for range phase.calls {
			calls.Go(func() { phase.call(ctx) })
		}
		calls.Wait()
		cancel()
	}
	fmt.Fprintln(os.Stderr, "the flood is over")
}

// busy returns services for a plugin, over a store that has nothing but long entries and takes nothing in until the test ends.
func busy(t *testing.T, name string) *hostapi.API {
	t.Helper()
	s, dir, log := storetest.Open(t), t.TempDir(), hclog.NewNullLogger()
	entries := slices.Repeat([]chat.TranscriptEntry{{Role: chat.User, Text: strings.Repeat("x", wire.MaxEntry)}}, 40)
	storetest.Accept(t, s, domain.Inbound{EventID: "first", Session: name + ":c", Lane: domain.TurnLane, Message: domain.Message{
		Channel: name, Chat: chat.Chat{ID: "c", Kind: chat.Direct},
	}})
	recorded := domain.Passive{EventID: "entries", Channel: name, Session: name + ":c", Transcript: entries}
	if _, err := s.RecordPassive(t.Context(), recorded); err != nil {
		t.Fatal(err)
	}
	running := plugins.New([]*config.Plugin{{Label: name, Enabled: true, ReadTranscripts: true}})
	reads := remote.Description{Capabilities: []remote.Capability{remote.TranscriptAppended}}
	running.Entry(name).Publish(&plugins.Plugin{Name: name, Description: reads})
	c := &config.Config{Settings: config.Settings{
		Session: config.Session{Scope: "per-channel-peer"}, Access: config.Access{DM: "open"},
	}}
	intake := inbox.NewIntake(s, nil, conversation.NewResolver(c, running, s), time.Now, log)
	var keeping sync.WaitGroup
	t.Cleanup(keeping.Wait)
	taken, free := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(free) })
	keeping.Go(func() {
		_, _ = s.Configure(t.Context(), name+":c", func(*domain.Overrides) {
			close(taken)
			<-free
		})
	})
	<-taken
	return hostapi.New(hostapi.Options{
		Inbox: inbox.New(intake, inbox.Options{
			Commands: command.New(nil, nil, command.Host{}), Questions: permission.New(permission.Options{Store: s}, log), Early: early.New(early.Options{}, log), Debounce: debounce.New(),
			Turns: dispatch.New(s, dispatch.Options{}, log), Zone: time.UTC,
		}),
		Store: s, Plugins: running, Files: files.NewStore(files.Options{Dir: filepath.Join(dir, "media"), Rows: s, MaxBytes: 20 << 20}),
	}, log)
}

// A plugin that brings more than the host can hold, or asks for more, at a time and without end, leaves the host its memory.
func TestAPluginCannotUseUpTheMemory(t *testing.T) {
	api := busy(t, "flood")
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		t.Skipf("the peak of the memory cannot be measured here: %v", err)
	}
	before := memory(t, "VmRSS")
	r := beginWith(t, api.Register, configured(t, "flood", ""))
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience) // it sends gigabytes
	defer cancel()
	if err := r.log.Await(ctx, nil, 0, regexp.MustCompile("the flood is over")); err != nil {
		t.Fatal(err)
	}
	const most = 768 << 20 // some 320 MB, and as much again for the race detector
	grown := memory(t, "VmHWM") - before
	t.Logf("the memory grew by %d MB", grown>>20)
	if grown > most {
		t.Errorf("the memory grew by %d MB, want at most %d", grown>>20, most>>20)
	}
}

// memory is a figure of this process, in bytes.
func memory(t *testing.T, name string) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), name+":")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kilobytes, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}
