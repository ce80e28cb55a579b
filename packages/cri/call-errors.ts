import { lstat } from 'node:fs/promises';
import { type ServiceError, status } from '@grpc/grpc-js';
import { FleetGcError } from '../process/errors.ts';

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

export const unreadable = ({ socketPath, path }: CallSite, problem: string): FleetGcError =>
  new FleetGcError(
    'RUNTIME_FAILED',
    `The runtime at ${socketPath} answered ${path} with something we cannot read, so nothing is concluded from it: ${problem}`,
  );

async function unavailable(error: ServiceError, { socketPath, path }: CallSite): Promise<FleetGcError> {
  const problem = await socketProblem(socketPath);
  if (problem) return new FleetGcError(problem.code, problem.message, { cause: error });
  return new FleetGcError(
    'RUNTIME_REFUSED',
    `The runtime at ${socketPath} refused or dropped the connection (${path}: ${error.details}). Is it running, may this process use its socket, and is it a CRI socket?`,
    { cause: error },
  );
}

async function socketProblem(
  socketPath: string,
): Promise<{ readonly code: 'RUNTIME_MISSING' | 'RUNTIME_REFUSED'; readonly message: string } | undefined> {
  try {
    if ((await lstat(socketPath)).isDirectory())
      return { code: 'RUNTIME_REFUSED', message: `${socketPath} is a directory, not a socket.` };
    return undefined;
  } catch (error) {
    return lstatProblem(socketPath, error);
  }
}

function lstatProblem(
  socketPath: string,
  error: unknown,
): { readonly code: 'RUNTIME_MISSING' | 'RUNTIME_REFUSED'; readonly message: string } {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  if (reason === 'ENOENT' || reason === 'ENOTDIR')
    return {
      code: 'RUNTIME_MISSING',
      message: `There is no runtime socket at ${socketPath}. Start the runtime, or name its socket with --runtime-endpoint.`,
    };
  return {
    code: 'RUNTIME_REFUSED',
    message: `The runtime socket ${socketPath} cannot be reached: ${reason}.`,
  };
}
