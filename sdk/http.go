package sdk

import "net/http"

// HTTPServer is a service that answers HTTP requests below /plugins/INSTANCE/ at the host's admin address, if serve_http is set in the
// plugin's block.
//
// HTTPHandler is called for each request. The handler sees the rest of the path, beginning with a slash (its URL has it decoded, so that it
// may have further slashes and dots), and what stands before it in the header X-Forwarded-Prefix. A request has a body of at most 1 MiB and no cookies; its RemoteAddr is who sent it, or the proxy before the
// host. Anybody may send it, also a page of another site in a browser: the handler must check who did, for example by a signature.
//
// A response has at most 1 MiB and is sent as a whole when the handler returns; the request's context ends after 30 seconds. Of its
// headers the host sends those about the content, caching, redirects and CORS, and those that begin with X-. A Location that begins with
// a slash is taken to be below the plugin's own address. Browsers run the scripts of a page in an origin of their own, so that requests of
// a page to the plugin come with Origin: null.
type HTTPServer interface {
	HTTPHandler() http.Handler
}
