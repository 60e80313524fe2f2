// PhotoGallery shows the list of photos as a web page, and contains the server behind it.
//
// The input is a list of photos and the options for processing it, and from the page its viewport
// and scroll phase. The output is the page itself (Page/, embedded into the program), changes of
// rows as server-sent events, and pictures. This module contains no photo logic: each page has a
// PhotoListSession, which decides and works.
//
//   GalleryServer      binds the port, assembles the routes, reports the address
//   Server/PageRoutes  the page's own files, which PageFile prepares
//   Server/APIRoutes   /api: the list, the events, the viewport, retry, pictures
//   Server/GalleryPages  the sessions by page, opened and closed as pages come and go
//   Server/GuardMiddleware  checks requests (Host, Origin), sets security headers (CSP …)
//   Server/ConnectionLimitHandler  closes connections of clients that are too slow
