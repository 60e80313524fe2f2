// PhotoLibrary finds photos, and shows and processes whole lists of them; PhotoPipeline loads each.
//
// The input is a source (a property list, JSON, a text file, a folder, a URL) and the events of a
// person who scrolls a list of photos. The output is pictures, changes of rows, and files.
//
//   Sources/   argument, bytes → PhotoList of PhotoRecords
//   Records/   a photo of a list: its name, its address, its state
//   List/      PhotoListController decides (pure), PendingOperations holds the two queues,
//              PhotoListSession joins them for one page
//   Viewing/   single photos of a list on a screen: details, larger pictures; what a list contains
//              when its folder changes
//   Index/     what is known of each photo, also from its header: search and order
//   Batch/     a whole list into a folder
