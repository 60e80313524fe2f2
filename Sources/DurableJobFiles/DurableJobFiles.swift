// DurableJobFiles: files and bytes that are made by the one run of a job that the store accepts.
// The steps are in DurableJobFiles.docc/Steps.md.
//
//   JobStorage.withFiles         what users write
//     │
//   JobContext  JobQueue         stagedFile, attach; attachment, removeStagedFiles and others
//     │
//   JobFiles                     the extension of a store (`JobExtension` of DurableJobs)
//   AttemptFiles                 its part in one attempt
//     │
//   AttachmentTable              bytes in the store
//   StagedFiles                  names, renames, marks of folders
//   LeftFiles                    ends that a dead worker has not published
//
// The input is a package interface of DurableJobs (`JobExtension`), which knows nothing of this
// module. Without the package's trait `DurableJobs` this module is empty, and the compiler's error
// for a use of DurableJobs names the remedy.
