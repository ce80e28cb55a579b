/** `<namespace>_<name>_<uid>` says it, `<uid>` alone does not (I2). */
export function namespaceOfLogDirectory(name: string): string | undefined {
  const [namespace, ...rest] = name.split('_');
  return rest.length === 2 ? namespace : undefined;
}

/** `<pod>_<namespace>_<container>-<id>.log` (G22). */
export function namespaceOfSymlink(name: string): string | undefined {
  const [, namespace, ...rest] = name.split('_');
  return rest.length === 1 ? namespace : undefined;
}
