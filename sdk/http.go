package sdk

import "net/http"

// HTTPServer is a service that answers HTTP requests below /plugins/INSTANCE/ at the host's admin address, if serve_http is set in the
// plugin's block.
//
// The handler sees the rest of the path, beginning with a slash. A request has a body of at most 1 MiB and no cookies; its RemoteAddr
// is who sent it, or the proxy before the host. Anybody may send it: the handler must check who did, for example by a signature.
// A response has at most 1 MiB and is sent as a whole when the handler returns; its context ends after 30 seconds. The host drops
// cookies, and browsers run a page's scripts in an origin of their own.
type HTTPServer interface {
	HTTPHandler() http.Handler
}
