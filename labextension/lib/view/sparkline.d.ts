/** A small filled line on a canvas, in the theme's colours. */
/** Draws a series of values; the last one stands at the right edge. */
export declare class Sparkline {
    constructor(parent: HTMLElement);
    /** Draw `values` from zero to their maximum; `label` is what a screen reader says. */
    draw(values: readonly number[], label: string): void;
    private readonly _canvas;
}
