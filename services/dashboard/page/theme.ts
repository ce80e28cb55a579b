import { useEffect, useState } from 'preact/hooks';

/** `light-dark()` is worked out only where a colour is used. */
export function themeColours(names: readonly string[]): readonly string[] {
  const probe = document.createElement('i');
  document.body.append(probe);
  const colours = names.map((name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return colours;
}

/** What is read of the theme, again when it turns dark or light. */
export function useTheme<Colours>(read: () => Colours): Colours {
  const [colours, setColours] = useState(read);
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const look = (): void => setColours(read());
    dark.addEventListener('change', look);
    return () => dark.removeEventListener('change', look);
  }, [read]);
  return colours;
}
