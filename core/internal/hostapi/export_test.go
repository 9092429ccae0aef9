package hostapi

import pluginv1 "github.com/clawhost/clawhost/proto/clawhost/plugin/v1"

// MediaStore is the service of an instance's files, without a connection.
func (a *API) MediaStore(instance string) pluginv1.MediaStoreServer {
	return mediaServer{caller: a.caller(instance)}
}
