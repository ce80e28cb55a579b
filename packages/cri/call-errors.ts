import { lstat } from 'node:fs/promises';
import { type ServiceError, status } from '@grpc/grpc-js';
import { FleetGcError } from '../process/errors.ts';
import { unreadableReason } from '../process/options/named-file.ts';
import { deniedText, systemCode } from '../process/system-problem.ts';

/** What was called, for the sentence. */
export interface CallSite {
  readonly socketPath: string;
  /** `/<package>.<Service>/<Method>` */
  readonly path: string;
}

/** Gives a failed call its code and a sentence for the operator. */
export async function callError(error: ServiceError, site: CallSite): Promise<FleetGcError> {
  const { socketPath, path } = site;
  switch (error.code) {
    case status.UNAVAILABLE:
    // We cancel no call: the runtime dropped it on its way down.
    case status.CANCELLED:
      return unavailable(error, site);
    case status.DEADLINE_EXCEEDED:
      return timedOut(site, error);
    case status.NOT_FOUND:
      return new FleetGcError('RUNTIME_NOT_FOUND', `${path}: ${error.details}`, { cause: error });
    case status.UNIMPLEMENTED:
      return new FleetGcError(
        'RUNTIME_UNSUPPORTED',
        `The runtime at ${socketPath} does not offer ${path} (${error.details}). FleetGC needs CRI v1: containerd 1.6 or CRI-O 1.23 or later, with the CRI plugin not disabled.`,
        { cause: error },
      );
    // Either side has a limit.
    case status.RESOURCE_EXHAUSTED:
      return new FleetGcError(
        'RUNTIME_ANSWER_TOO_LARGE',
        `The runtime at ${socketPath} has more to say to ${path} than a message may hold: ${error.details}`,
        { cause: error },
      );
    default:
      return new FleetGcError(
        isImageInUse(error) ? 'RUNTIME_IMAGE_IN_USE' : 'RUNTIME_FAILED',
        `The runtime at ${socketPath} failed in ${path}: ${error.details || error.message}`,
        { cause: error },
      );
  }
}

/**
 * CRI has no code for it. CRI-O passes on what its storage says, `image used by <id>: image is in use by a container`, and
 * says of a container that mounts it `the image is in use by <id>`.
 */
const isImageInUse = ({ details }: ServiceError): boolean =>
  /image is in use by (a container|[0-9a-f]{64})$/i.test(details);

export const timedOut = ({ socketPath, path }: CallSite, cause?: unknown): FleetGcError =>
  new FleetGcError(
    'RUNTIME_TIMEOUT',
    `The runtime at ${socketPath} did not answer ${path} in time. It hangs or is overloaded; look at its log.`,
    { cause },
  );

export const tooMuch = ({ socketPath, path }: CallSite, mostBytes: number): FleetGcError =>
  new FleetGcError(
    'RUNTIME_ANSWER_TOO_LARGE',
    `The runtime at ${socketPath} answers ${path} with more than the ${mostBytes} bytes that are read of one answer.`,
  );

export const unreadable = ({ socketPath, path }: CallSite, problem: string): FleetGcError =>
  new FleetGcError(
    'RUNTIME_FAILED',
    `The runtime at ${socketPath} answered ${path} with something that FleetGC cannot read, so it removes nothing: ${problem}`,
  );

async function unavailable(error: ServiceError, { socketPath, path }: CallSite): Promise<FleetGcError> {
  const problem = await socketProblem(socketPath, error);
  if (problem !== null) return problem;
  if (DENIED.test(error.details)) return notReached(socketPath, deniedText(socketPath), error);
  return new FleetGcError(
    'RUNTIME_REFUSED',
    `The runtime at ${socketPath} refused or dropped the connection (${path}: ${error.details}). Is it running, and is it a CRI socket?`,
    { cause: error },
  );
}

/** The system's answer stands in the client's words alone. */
const DENIED = /\bconnect (EACCES|EPERM)\b/;

const notReached = (socketPath: string, why: string, cause: unknown): FleetGcError =>
  new FleetGcError('RUNTIME_REFUSED', `The runtime socket ${socketPath} cannot be reached: ${why}.`, {
    cause,
  });

async function socketProblem(socketPath: string, cause: ServiceError): Promise<FleetGcError | null> {
  try {
    if ((await lstat(socketPath)).isDirectory())
      return new FleetGcError('RUNTIME_REFUSED', `${socketPath} is a directory, not a socket.`, { cause });
    return null;
  } catch (error) {
    const code = systemCode(error);
    if (code !== 'ENOENT' && code !== 'ENOTDIR')
      return notReached(socketPath, unreadableReason(error), cause);
    return new FleetGcError(
      'RUNTIME_MISSING',
      `There is no runtime socket at ${socketPath}. Start the runtime, or name its socket with --runtime-endpoint.`,
      { cause },
    );
  }
}
