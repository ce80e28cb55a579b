/**
 * Loaded before each unit test: the wall clock jumps a second at each reading, as it does for a process that waits for its
 * turn on a busy machine. So a test that compares two readings of the real clock fails everywhere, and not only there.
 */
const JUMP_MS = 1000;
const INSTALLED = Symbol.for('fleetgc.test.jumping-clock');

if (!(INSTALLED in globalThis)) {
  const RealDate = globalThis.Date;
  let jumpedMs = 0;
  const now = (): number => {
    jumpedMs += JUMP_MS;
    return RealDate.now() + jumpedMs;
  };
  globalThis.Date = new Proxy(RealDate, {
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
    construct: (target, args: readonly unknown[], newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  });
  Object.assign(globalThis, { [INSTALLED]: true });
}
