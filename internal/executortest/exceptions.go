package executortest

// ExtensionExceptions are the exceptions of executor/extension: cases that cannot pass in the
// user's Chrome, with the reasons.
var ExtensionExceptions = map[string]string{
	"emulation/locale, time zone and CPU throttling":                 "in the user's Chrome other tabs may share the page's process and would also be affected; the call reports this",
	"emulation/permissions":                                          "only the user grants permissions in their Chrome; the call reports this",
	"emulation/headers of requests to an origin":                     "the extension changes no requests of the user's Chrome; the call reports this",
	"native_dialogs/document with basic authentication":              "Chrome asks its user for the password",
	"error_pages/certificate warning is read and left, not acted on": "Chrome does not let an extension read a certificate warning; the next case shows that it is left",
	"requests/bodies": "the extension returns no response bodies: it cannot determine the site of each, and the call reports that",
	"navigation_downloads/deceptive file names are sanitized": "Chrome chooses the names of downloaded files and saves them in the user's download directory",
}
