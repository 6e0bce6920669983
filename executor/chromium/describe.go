package chromium

import "fmt"

// describe describes the browser in a few words.
func (in *instance) describe() string {
	if in.proc == nil {
		detail := "attached to " + in.version.Product
		if in.replica != "" {
			detail = "launched " + in.version.Product + " on browserless at " + in.replica
		}
		if limits := in.unenforced(); limits != "" {
			detail += "; " + limits
		}
		return detail
	}
	how := "headed"
	if in.proc.Headless {
		how = "headless"
	}
	if in.pooled != nil {
		how += ", in a context of a shared browser"
	}
	return fmt.Sprintf("launched %s, %s, pid %d", in.version.Product, how, in.proc.PID)
}

// unenforced describes what bypasses the network policy in an attached browser. It returns "" for a
// browser that we launched.
func (in *instance) unenforced() string {
	if in.proc != nil || in.opts.Network == nil {
		return ""
	}
	if in.remoteEgress != nil { // the CDP client of browserless also resumes new tabs
		return "the first document of a new tab may be loaded before its URL is checked: then the egress proxy alone decides"
	}
	const webRTC = "WebRTC bypasses the policy, unless the browser was started with --webrtc-ip-handling-policy=disable_non_proxied_udp"
	if in.filtered() {
		return webRTC
	}
	return "its network is not filtered: the policy applies only to requests that CDP reports; " + webRTC
}
