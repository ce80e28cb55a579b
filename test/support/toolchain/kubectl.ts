import { join } from 'node:path';
import { builtKubernetesProgram } from './kubernetes.ts';

/** The path of kubectl: of the version whose API server is tested against, which is built from the same module. */
export async function ensureKubectl(): Promise<string> {
  return join(await builtKubernetesProgram('kubectl'), 'kubectl');
}
