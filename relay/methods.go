package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// A commandRule says what happens to a command.
type commandRule struct {
	denied   string    // why no client can use it; "" if clients can
	check    checkFunc // nil allows all parameters
	audited  bool      // in the audit log also if the command is sent
	pageOnly bool      // not in a session of the browser target
}

// A checkFunc returns why a client cannot send a command, or nil. It may change the command.
type checkFunc func(context.Context, *client, *command) error

// audited returns a rule for commands that act on pages or the browser, or read their content.
func audited(check checkFunc) commandRule { return commandRule{check: check, audited: true} }

// pageOnly is audited for commands that sessions of the browser target do not have.
func pageOnly(check checkFunc) commandRule {
	return commandRule{check: check, audited: true, pageOnly: true}
}

// unaudited returns a rule for commands that configure the client's sessions, the emulation or the
// display of a page, or read the state of the browser.
func unaudited(check checkFunc) commandRule { return commandRule{check: check} }

// deny returns a rule for commands that no client can use.
func deny(reason string) commandRule { return commandRule{denied: reason} }

// domainRules are the rules for the commands that methodRules does not contain. Commands with the
// names enable and disable are not audited.
var domainRules = sync.OnceValue(func() map[string]commandRule {
	return map[string]commandRule{
		"Accessibility":        audited(nil),
		"Ads":                  deny("clients do not need it"),
		"Animation":            audited(nil),
		"Audits":               audited(nil),
		"Autofill":             deny("it reads the user's addresses and cards"),
		"BackgroundService":    deny("it reads the activity of all sites"),
		"BluetoothEmulation":   deny("devices are not available"),
		"Browser":              unaudited(nil),
		"CSS":                  audited(nil),
		"CacheStorage":         audited(checkCache),
		"Cast":                 deny("devices are not available"),
		"Console":              unaudited(nil),
		"CrashReportContext":   deny("clients do not need it"),
		"DOM":                  audited(nil),
		"DOMDebugger":          audited(nil),
		"DOMSnapshot":          audited(nil),
		"DOMStorage":           audited(checkStorage),
		"Debugger":             audited(nil),
		"DeviceAccess":         deny("devices are not available"),
		"DeviceOrientation":    unaudited(checkEmulation),
		"DigitalCredentials":   deny("the user's credentials are not available"),
		"Emulation":            unaudited(checkEmulation),
		"EventBreakpoints":     unaudited(nil),
		"Extensions":           deny("a client must not change the browser's extensions"),
		"FedCm":                deny("the user's accounts are not available"),
		"Fetch":                pageOnly(checkPaused),
		"FileSystem":           deny("it reads files of sites"),
		"FindInPage":           audited(nil),
		"HeadlessExperimental": deny("the browser draws its frames itself"),
		"HeapProfiler":         audited(nil),
		"IO":                   audited(nil),
		"IndexedDB":            audited(checkStorage),
		"Input":                audited(nil),
		"Inspector":            unaudited(nil),
		"LayerTree":            audited(nil),
		"Log":                  unaudited(nil),
		"Media":                unaudited(nil),
		"Memory":               deny("it affects the whole browser"),
		"Network":              unaudited(nil),
		"Overlay":              unaudited(nil),
		"PWA":                  deny("a client must not install apps"),
		"Page":                 audited(nil),
		"Performance":          unaudited(nil),
		"PerformanceTimeline":  unaudited(nil),
		"Preload":              unaudited(nil),
		"Profiler":             audited(nil),
		"Runtime":              audited(nil),
		"Schema":               unaudited(nil),
		"Security":             pageOnly(nil),
		"ServiceWorker":        deny("service workers outlive the client"),
		"SmartCardEmulation":   deny("devices are not available"),
		"Storage":              deny("it affects all sites"),
		"SystemInfo":           deny("it reads the processes of this machine"),
		"Target":               unaudited(nil),
		"Tethering":            deny("it opens ports of this machine"),
		"Tracing":              deny("a trace contains the activity of all pages"),
		"WebAudio":             audited(nil),
		"WebAuthn":             audited(nil),
		"WebMCP":               deny("scripts can call the tools of a page"),
	}
})

// methodRules are the rules for single commands.
var methodRules = sync.OnceValue(func() map[string]commandRule {
	return map[string]commandRule{
		"Audits.getEncodedResponse": audited(checkRequest),

		"Browser.addMockCamera":                       deny("it affects the whole browser"),
		"Browser.addPrivacySandboxEnrollmentOverride": deny("it affects the whole browser"),
		"Browser.cancelDownload":                      audited(checkCancelDownload),
		"Browser.close":                               audited(succeed),
		"Browser.crash":                               deny("other clients use the browser"),
		"Browser.crashGpuProcess":                     deny("other clients use the browser"),
		"Browser.executeBrowserCommand":               deny("it opens internal pages of the browser"),
		"Browser.getBrowserCommandLine":               deny("the command line contains secrets"),
		"Browser.getHistogram":                        deny("it reads statistics of all sites"),
		"Browser.getHistograms":                       deny("it reads statistics of all sites"),
		"Browser.getWindowBounds":                     unaudited(checkWindow),
		"Browser.getWindowForTarget":                  unaudited(checkWindowForTarget),
		"Browser.grantPermissions":                    audited(checkPermissionOrigins),
		"Browser.resetPermissions":                    audited(checkPermissionOrigins),
		"Browser.setContentsSize":                     audited(checkWindow),
		"Browser.setDockTile":                         deny("it affects the whole browser"),
		"Browser.setDownloadBehavior":                 unaudited(checkDownloads),
		"Browser.setGlobalPrivacyControl":             deny("it affects the whole browser"),
		"Browser.setPermission":                       audited(checkPermissionOrigins),

		"Browser.setWindowBounds": audited(checkWindow),

		"CacheStorage.requestCacheNames": audited(checkStorage),
		"DOM.resolveNode":                audited(checkExecutionContext),
		"DOM.setFileInputFiles":          audited(checkFiles),
		"DOMStorage.disable":             unaudited(nil),
		"DOMStorage.enable":              unaudited(nil),

		"Emulation.addScreen":                      deny("it affects the whole browser"),
		"Emulation.canEmulate":                     unaudited(nil),
		"Emulation.getOverriddenSensorInformation": unaudited(nil),
		"Emulation.getScreenInfos":                 unaudited(nil),
		"Emulation.removeScreen":                   deny("it affects the whole browser"),
		"Emulation.setFocusEmulationEnabled":       unaudited(nil), // each session has its own
		"Emulation.setPrimaryScreen":               deny("it affects the whole browser"),
		"Emulation.updateScreen":                   deny("it affects the whole browser"),

		"Fetch.continueRequest":          pageOnly(checkContinueRequest),
		"Fetch.continueResponse":         pageOnly(checkFulfill),
		"Fetch.disable":                  {pageOnly: true},
		"Fetch.enable":                   {pageOnly: true},
		"Fetch.fulfillRequest":           pageOnly(checkFulfill),
		"Fetch.getResponseBody":          pageOnly(checkPausedBody),
		"Fetch.takeResponseBodyAsStream": pageOnly(checkPausedBody),

		"HeapProfiler.addInspectedHeapObject":  deny("it reaches the objects of our isolated world"),
		"HeapProfiler.getObjectByHeapObjectId": deny("it reaches the objects of our isolated world"),

		"IO.close": unaudited(nil),

		"IndexedDB.disable": unaudited(nil),
		"IndexedDB.enable":  unaudited(nil),

		"Input.dispatchDragEvent": audited(checkFiles),

		"Network.clearBrowserCache":              audited(checkOwnBrowserContext),
		"Network.clearBrowserCookies":            audited(checkClearCookies),
		"Network.deleteCookies":                  audited(checkSetCookies),
		"Network.deleteDeviceBoundSession":       deny("it affects all sites"),
		"Network.emulateNetworkConditions":       unaudited(checkEmulation),
		"Network.emulateNetworkConditionsByRule": unaudited(checkEmulation),
		"Network.getAllCookies":                  audited(filterCookies),
		"Network.getCertificate":                 audited(checkStorage),
		"Network.getCookies":                     audited(filterCookies),
		"Network.getRequestPostData":             audited(checkKnownRequest),
		"Network.getResponseBody":                audited(checkRequest),
		"Network.loadNetworkResource":            deny("it loads URLs without the checks for pages"),
		"Network.overrideNetworkState":           unaudited(checkEmulation),
		"Network.replayXHR":                      audited(nil),
		"Network.searchInResponseBody":           audited(checkRequest),
		"Network.setCookie":                      audited(checkSetCookies),
		"Network.setCookieControls":              deny("it affects the whole browser"),
		"Network.setCookies":                     audited(checkSetCookies),
		"Network.setExtraHTTPHeaders":            unaudited(checkExtraHeaders),
		"Network.setUserAgentOverride":           unaudited(checkEmulation),
		"Network.streamResourceContent":          audited(checkRequest),

		"Page.addScriptToEvaluateOnLoad":        audited(checkWorld),
		"Page.addScriptToEvaluateOnNewDocument": audited(checkWorld),
		"Page.clearDeviceMetricsOverride":       unaudited(checkEmulation),
		"Page.clearDeviceOrientationOverride":   unaudited(checkEmulation),
		"Page.clearGeolocationOverride":         unaudited(checkEmulation),
		"Page.crash":                            deny("other clients use the page"),
		"Page.createIsolatedWorld":              unaudited(checkCreateWorld),
		"Page.deleteCookie":                     deny("Network.deleteCookies replaces it"),
		"Page.getFrameTree":                     unaudited(nil),
		"Page.getResourceContent":               audited(checkResourceURL),
		"Page.navigate":                         audited(checkNavigate),
		"Page.screencastFrameAck":               unaudited(nil),
		"Page.searchInResource":                 audited(checkResourceURL),
		"Page.setDeviceMetricsOverride":         unaudited(checkEmulation),
		"Page.setDeviceOrientationOverride":     unaudited(checkEmulation),
		"Page.setDownloadBehavior":              unaudited(checkDownloads),
		"Page.setGeolocationOverride":           unaudited(checkEmulation),
		"Page.setLifecycleEventsEnabled":        unaudited(nil),
		"Page.setTouchEmulationEnabled":         unaudited(checkEmulation),

		"Runtime.addBinding":              unaudited(checkWorld),
		"Runtime.callFunctionOn":          audited(checkExecutionContext),
		"Runtime.compileScript":           audited(checkExecutionContext),
		"Runtime.evaluate":                audited(checkExecutionContext),
		"Runtime.globalLexicalScopeNames": audited(checkExecutionContext),
		"Runtime.releaseObject":           unaudited(nil),
		"Runtime.releaseObjectGroup":      unaudited(nil),
		"Runtime.runIfWaitingForDebugger": unaudited(nil),
		"Runtime.runScript":               audited(checkExecutionContext),

		"ServiceWorker.disable": unaudited(nil),
		"ServiceWorker.enable":  unaudited(nil),

		"Storage.clearCookies":                     audited(checkClearCookies),
		"Storage.clearDataForOrigin":               audited(checkStorage),
		"Storage.clearDataForStorageKey":           audited(checkStorage),
		"Storage.deleteStorageBucket":              audited(checkStorage),
		"Storage.getCookies":                       audited(filterCookies),
		"Storage.getStorageKey":                    unaudited(nil),
		"Storage.getStorageKeyForFrame":            unaudited(nil),
		"Storage.getUsageAndQuota":                 audited(checkStorage),
		"Storage.overrideQuotaForOrigin":           audited(checkStorage),
		"Storage.setCookies":                       audited(checkSetCookies),
		"Storage.setStorageBucketTracking":         unaudited(checkStorage),
		"Storage.trackCacheStorageForOrigin":       unaudited(checkStorage),
		"Storage.trackCacheStorageForStorageKey":   unaudited(checkStorage),
		"Storage.trackIndexedDBForOrigin":          unaudited(checkStorage),
		"Storage.trackIndexedDBForStorageKey":      unaudited(checkStorage),
		"Storage.untrackCacheStorageForOrigin":     unaudited(checkStorage),
		"Storage.untrackCacheStorageForStorageKey": unaudited(checkStorage),
		"Storage.untrackIndexedDBForOrigin":        unaudited(checkStorage),
		"Storage.untrackIndexedDBForStorageKey":    unaudited(checkStorage),

		"Target.activateTarget":         audited(checkTargetID),
		"Target.attachToTarget":         audited(checkAttach),
		"Target.autoAttachRelated":      unaudited(checkAutoAttach),
		"Target.closeTarget":            audited(checkTargetID),
		"Target.createBrowserContext":   audited(checkCreateBrowserContext),
		"Target.createTarget":           audited(checkCreateTarget),
		"Target.detachFromTarget":       unaudited(checkDetach),
		"Target.disposeBrowserContext":  audited(checkDisposeBrowserContext),
		"Target.exposeDevToolsProtocol": deny("pages must not control the browser"),
		"Target.getBrowserContexts":     unaudited(filterBrowserContexts),
		"Target.getDevToolsTarget":      deny("pages of DevTools are hidden"),
		"Target.getTargetInfo":          unaudited(checkTargetID),
		"Target.getTargets":             unaudited(filterTargets),
		"Target.openDevTools":           deny("pages of DevTools are hidden"),
		"Target.sendMessageToTarget":    deny("only flat sessions are supported"),
		"Target.setAutoAttach":          unaudited(checkAutoAttach),
		"Target.setRemoteLocations":     deny("clients connect to the relay only"),
	}
})

// table has the rule for each known command. A command that a later version of the browser adds is
// unknown, even if its domain is allowed.
var table = sync.OnceValue(func() map[string]*commandRule {
	all := map[string]*commandRule{}
	for _, d := range domains() {
		for _, name := range d.commands {
			r, ok := methodRules()[d.name+"."+name]
			if !ok {
				r = domainRules()[d.name]
				if name == "enable" || name == "disable" {
					r.audited = false
				}
			}
			all[d.name+"."+name] = &r
		}
	}
	return all
})

// unknownMethod returns the error for a command that table does not contain.
func unknownMethod(method string) error {
	if domain, _, ok := strings.Cut(method, "."); ok {
		if r := domainRules()[domain]; r.denied != "" {
			return unavailable(method, r.denied)
		}
	}
	return unavailable(method, "the command is unknown")
}

// unavailable returns the error for a command that no client can use.
func unavailable(method, reason string) error {
	return chromiumError(codeUnknownMethod,
		fmt.Sprintf("'%.100s' is not available through chrome-mcp: %s", method, reason))
}
