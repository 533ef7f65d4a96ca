// Errors are stored where a person and a test can find them.
addEventListener("error", (event) => { document.documentElement.dataset.error = event.message; });
addEventListener("securitypolicyviolation", (event) => { document.documentElement.dataset.error = "refused: " + event.blockedURI; });
