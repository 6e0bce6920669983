package chromium

import "fmt"

// describe describes the browser in a few words.
func (r *instance) describe() string {
	if r.proc == nil {
		detail := "attached to " + r.version.Product
		if r.replica != "" {
			detail = "launched " + r.version.Product + " on browserless at " + r.replica
		}
		if limits := r.unenforced(); limits != "" {
			detail += "; " + limits
		}
		return detail
	}
	how := "headed"
	if r.proc.headless {
		how = "headless"
	}
	if r.pooled != nil {
		how += ", in a context of a shared browser"
	}
	return fmt.Sprintf("launched %s, %s, pid %d", r.version.Product, how, r.proc.pid)
}

// unenforced describes what bypasses the network policy in an attached browser. It returns "" for a
// browser that we launched, and for one of browserless whose arguments select our proxy.
func (r *instance) unenforced() string {
	if r.proc != nil || r.opts.Network == nil || r.remoteEgress != nil {
		return ""
	}
	const webRTC = "WebRTC bypasses the policy, unless the browser was started with --webrtc-ip-handling-policy=disable_non_proxied_udp"
	if r.filtered() {
		return webRTC
	}
	return "its network is not filtered: the policy applies only to requests that CDP reports; " + webRTC
}
