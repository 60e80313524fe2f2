// PhotoGallery: the list of photos as a web page, and the server behind it.
//
// In come a list of photos and how to work on it; from the page come its viewport and scroll phase.
// Out go the page itself (Page/, embedded into the program), the news about rows as server-sent
// events, and pictures. There is no photo logic here: each page has a PhotoListSession, which decides
// and works.
//
//   GalleryServer      binds the port, puts the routes together, says where it listens
//   Server/PageRoutes  the page's own files
//   Server/APIRoutes   /api: the list, the events, the viewport, retry, pictures
//   Server/GalleryPages  the sessions by page, opened and closed as pages come and go
//   Server/GuardMiddleware  who may ask (Host, Origin), and what browsers are told (CSP …)
//   Server/ConnectionLimitHandler  closes connections of clients that are too slow
