// Foundation and Operations together, for files that need both.
//
// Both modules declare the names below. A declaration of this module takes precedence over those of
// the modules that it re-exports, so that each name has one meaning in a file that imports this
// module.

@_exported public import Foundation
@_exported public import Operations

/// The operation of `Operations`, not that of Foundation.
public typealias Operation = Operations.Operation

/// The block operation of `Operations`, not that of Foundation.
public typealias BlockOperation = Operations.BlockOperation

/// The queue of `Operations`, not that of Foundation.
public typealias OperationQueue = Operations.OperationQueue

/// The progress of `Operations`, not that of Foundation. Types of Foundation that have a progress,
/// such as `URLSessionTask`, return Foundation's `Foundation.Progress`.
public typealias Progress = Operations.Progress

/// The quality of service of `Operations`, not that of Foundation. Types of Foundation that have a
/// quality of service, such as `Thread`, take Foundation's, whose cases have the same names.
public typealias QualityOfService = Operations.QualityOfService

// Foundation declares these names on Apple's platforms only.

/// The registration of an observer of `Operations`, not that of Foundation.
public typealias NSKeyValueObservation = Operations.NSKeyValueObservation

/// The change that an observer of `Operations` gets, not that of Foundation.
public typealias NSKeyValueObservedChange = Operations.NSKeyValueObservedChange

/// The options of an observer of `Operations`, not those of Foundation.
public typealias NSKeyValueObservingOptions = Operations.NSKeyValueObservingOptions
